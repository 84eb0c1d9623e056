#!/bin/sh
# A template taken from another folder changes the instructions that it stands for and nothing else.
#
#   templates.sh WARPSCORE ROOT
set -eu
tool=$1
cd "$2"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/common"
sed 's/ex2\.approx\.ftz\.f32/ex2.approx.f32/' templates/common/arith.ptx >"$scratch/common/arith.ptx"
"$tool" gen specs/fa2_forward.yaml -o "$scratch/own.ptx"
"$tool" gen --templates "$scratch" specs/fa2_forward.yaml -o "$scratch/other.ptx"
"$tool" gen --templates templates specs/fa2_forward.yaml -o "$scratch/same.ptx"
cmp "$scratch/own.ptx" "$scratch/same.ptx" # the folder of the project holds what is compiled in
grep -q 'ex2\.approx\.ftz' "$scratch/own.ptx"
if cmp -s "$scratch/own.ptx" "$scratch/other.ptx"; then
  echo "the template had no effect"
  exit 1
fi
sed 's/ex2\.approx\.ftz\.f32/ex2.approx.f32/' "$scratch/own.ptx" | cmp - "$scratch/other.ptx"
