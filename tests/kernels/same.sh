#!/bin/sh
# Two kernels that have to give the same bits, O and LSE, and pass: what is derived and what is stated, what is moved in two ways.
#
#   same.sh WARPSCORE ROOT LIST DEVICE [OPTIONS OF run]
#
# A line of LIST: SHAPE ; options of both kernels ; more options and spec of one ; of the other. {a,b} stands for a choice, every combination is run.
set -u
tool=$1 list=$3 device=$4
. "$(dirname "$0")/../expand.sh"
cd "$2" || exit 1
shift 4
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
expand_list "$list" >"$scratch/all"
failed=0

# run_one NAME SHAPE OPTIONS
run_one() {
  name=$1 shape=$2 options=$3
  shift 3
  # shellcheck disable=SC2086 # words are split on purpose
  "$tool" run --device "$device" --shape "$shape" --out "$scratch/$name.o" --lse "$scratch/$name.lse" "$@" $options >"$scratch/log" 2>&1 && return 0
  printf 'FAIL %s %s\n' "$shape" "$options"
  head -n 12 "$scratch/log"
  return 1
}

while IFS=';' read -r shape both one other; do
  shape=$(echo "$shape" | tr -d ' ')
  run_one one "$shape" "$both $one" "$@" && run_one other "$shape" "$both $other" "$@" || { failed=$((failed + 1)) && continue; }
  for x in o lse; do
    cmp -s "$scratch/one.$x" "$scratch/other.$x" && continue
    printf 'FAIL %s: other bits in %s:%s and%s\n' "$shape" "$x" "$both $one" "$other"
    failed=$((failed + 1))
  done
done <"$scratch/all"
printf '%s pairs, %s differ\n' "$(wc -l <"$scratch/all")" "$failed"
[ "$failed" = 0 ] && [ -s "$scratch/all" ]
