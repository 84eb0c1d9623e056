#!/bin/sh
# Assembles generated kernels with ptxas for their own target and, where the list says so, for a GPU that they are also run on.
#
#   assemble.sh WARPSCORE ROOT LIST
#
# A line of LIST: `any`, `spill0` or `both0`, then options and spec as `gen` takes them; {a,b} stands for a choice, every
# combination is tried. spill0: ptxas must not spill a byte; both0: the same, and for sm_90, too. Products that it serialises and registers that it does not move are
# failures, too. Exit code 77 (skipped) where there is no ptxas.
set -u
tool=$1 list=$3
. "$(dirname "$0")/../expand.sh"
cd "$2" || exit 1
if [ -n "${PTXAS:-}" ]; then ptxas=$(command -v "$PTXAS"); else ptxas=$(PATH=$PATH:/usr/local/cuda/bin && command -v ptxas); fi
if [ -z "$ptxas" ]; then
  echo "no ptxas: nothing is assembled"
  exit 77
fi
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

expand_list "$list" >"$scratch/all"
passed=0 failed=0
while read -r want options; do
  # shellcheck disable=SC2086 # words are split on purpose
  if ! "$tool" gen $options -o "$scratch/k.ptx" >"$scratch/log" 2>&1; then
    printf 'FAIL not generated: %s\n' "$options"
    head -n 5 "$scratch/log"
    failed=$((failed + 1))
    continue
  fi
  target=$(sed -n 's/^\.target \([a-z0-9_]*\).*/\1/p' "$scratch/k.ptx")
  later=
  if [ "$want" = both0 ]; then later=sm_90 want=spill0; fi
  for arch in $target $later; do
    if ! "$ptxas" -v -arch="$arch" "$scratch/k.ptx" -o "$scratch/k.cubin" >"$scratch/log" 2>&1; then
      printf 'FAIL ptxas -arch=%s: %s\n' "$arch" "$options"
      head -n 5 "$scratch/log"
      failed=$((failed + 1))
    elif grep -qE 'instructions are serialized|setmaxnreg.* ignored' "$scratch/log"; then
      printf 'FAIL %s: %s\n' "$(grep -E 'instructions are serialized|setmaxnreg.* ignored' "$scratch/log" | head -n 1)" "$options"
      failed=$((failed + 1))
    elif ! grep -q 'bytes spill stores' "$scratch/log"; then
      printf 'FAIL ptxas says nothing of spills: %s\n' "$options"
      failed=$((failed + 1))
    elif [ "$want" = spill0 ] && ! grep -q ' 0 bytes spill stores, 0 bytes spill loads' "$scratch/log"; then
      printf 'FAIL %s, -arch=%s: %s\n' "$(sed -n 's/.*frame, //p' "$scratch/log" | head -n 1)" "$arch" "$options"
      failed=$((failed + 1))
    else
      passed=$((passed + 1))
    fi
  done
done <"$scratch/all"
printf '%s passed, %s failed\n' "$passed" "$failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
