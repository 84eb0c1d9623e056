#!/bin/sh
# Runs kernels on a grid of shapes and holds them against the fp64 reference (and, with --compare, against another device).
#
#   grid.sh WARPSCORE ROOT LIST DEVICE [OPTIONS OF run]
#
# A line of LIST: a file of shapes (NAME.shapes beside LIST), then options and spec as `run` takes them; {a,b} stands for
# a choice, every combination is run. Exit code 77 (skipped) where the device is not there.
set -u
tool=$1 list=$3 device=$4
. "$(dirname "$0")/../expand.sh"
cd "$2" || exit 1
shift 4
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
expand_list "$list" >"$scratch/all"
passed=0 failed=0
while read -r shapes options; do
  # shellcheck disable=SC2086 # words are split on purpose
  "$tool" run --device "$device" --shapes "$(dirname "$list")/$shapes.shapes" "$@" $options >"$scratch/out" 2>"$scratch/err"
  code=$?
  if [ $code = 4 ] && [ "$device" != emu ]; then
    cat "$scratch/err"
    exit 77
  fi
  good=$(grep -c '^PASS' "$scratch/out")
  passed=$((passed + good))
  if [ $code != 0 ] || [ "$good" = 0 ]; then
    failed=$((failed + 1))
    printf 'FAIL exit code %s: %s\n' $code "$options"
    grep -v '^PASS' "$scratch/out" | head -n 12
    head -n 5 "$scratch/err"
  fi
done <"$scratch/all"
printf '%s shapes right; kernels that failed: %s of %s\n' "$passed" "$failed" "$(wc -l <"$scratch/all")"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
