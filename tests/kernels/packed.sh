#!/bin/sh
# `pack: gqa` in schedules that are shipped without it: persistent launches, twins, clusters, tensor memory, windows, biases.
#
#   packed.sh WARPSCORE ROOT
set -u
tool=$1
cd "$2" || exit 1
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
passed=0 failed=0

# packed SPEC OPTIONS...: right on the emulator in two completion orders, for a group that divides 8 and one that does not
packed() {
  spec=$1
  shift
  sed -e 's/^  tile: {queries: \([^}]*\)}/  tile: {queries: \1, pack: gqa}/' -e 's/^params:/params:\n  group: {type: int, default: 4}/' "specs/$spec.yaml" >"$scratch/$spec.yaml"
  for group in 4 16; do
    if grep -q 'pack: gqa' "$scratch/$spec.yaml" && "$tool" run --device emu -D group=$group "$@" "$scratch/$spec.yaml" \
      --shape b=2,hkv=2,sq=19,sk=200 --shape hkv=2,sq=70,sk=60,layout=bhsd,pad=8 --shape hkv=1,sq=1,sk=0 --schedule early,random:1 >"$scratch/out" 2>&1; then
      passed=$((passed + 1))
    else
      failed=$((failed + 1))
      printf 'FAIL %s -D group=%s %s\n' "$spec" $group "$*"
      grep -v '^PASS' "$scratch/out" | head -n 8
    fi
  done
}

packed fa2_forward -D causal=true
packed fa2_window -D window=33
packed fa2_bias
packed fa2_prefix
packed fa2_sliced_k -D causal=true
packed b300_v13
for causal in false true; do packed fa3_forward -D head_dim=64 -D causal=$causal; done
packed fa3_forward -D causal=true -D staged=false
packed fa3_cluster -D head_dim=64 -D causal=true
packed b300_v14 -D causal=true
for causal in false true; do packed fa4_forward -D head_dim=64 -D causal=$causal; done
printf '%s packed kernels right, %s wrong\n' $passed $failed
[ $failed = 0 ] && [ $passed -gt 0 ]
