#!/bin/sh
# The whole spec at the head of specs/README.md is one: `check` calls it clean and `gen` generates it.
#
#   readme.sh WARPSCORE ROOT
set -u
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
awk '/^schedule: /{inside = 1} /^```/{if (inside) exit} inside' "$2/specs/README.md" >"$scratch/whole.yaml"
grep -q '^programs:' "$scratch/whole.yaml" || { echo "FAIL no whole spec found in specs/README.md"; exit 1; }
"$1" check "$scratch/whole.yaml" >"$scratch/log" 2>&1 && grep -q '^verdict: clean' "$scratch/log" || { echo "FAIL check:" && cat "$scratch/log" && exit 1; }
"$1" gen "$scratch/whole.yaml" -o "$scratch/whole.ptx" || exit 1
echo "the whole spec of specs/README.md is clean and generated"
