#!/bin/sh
# SPIN beside the explorer: models of random schedules, and whether they deadlock.
#   spin.sh ORACLE FIRST COUNT
# Exit code 77, skipped, where there is no spin or no C compiler for its verifiers.
set -eu
oracle=$1
command -v spin >/dev/null || { echo "SKIP: spin is not installed (Debian package spin)"; exit 77; }
command -v cc >/dev/null || { echo "SKIP: no C compiler for the verifiers that spin writes"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$oracle" spin "$folder" "$2" "$3" >"$folder/verdicts"
cd "$folder"
same=0 differ=0
while read -r name explored; do
  spin -a "$name.pml" >spin.log 2>&1 && cc -w -O0 -DSAFETY -DVECTORSZ=4096 -o pan pan.c || { cat spin.log; exit 1; }
  ./pan -m1000000 -w20 >pan.log
  if grep -q '^pan:.*invalid end state' pan.log; then spun=deadlock; else spun=clean; fi
  grep -q 'max search depth too small\|out of memory' pan.log && { cat pan.log; exit 1; }
  if [ "$explored" = "$spun" ]; then same=$((same + 1)); else
    differ=$((differ + 1))
    echo "seed $name: explored: $explored, spin: $spun"
  fi
done <verdicts
echo "$same models judged alike, $differ not; $(grep -c deadlock verdicts) with a deadlock"
[ "$differ" = 0 ] && [ "$same" -gt 0 ]
