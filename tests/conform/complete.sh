#!/bin/sh
# complete.sh LIST SPECS: every schedule in SPECS stands in LIST.
code=0
for spec in "$2"/*.yaml; do
  grep -q "specs/$(basename "$spec")\$" "$1" || { echo "FAIL $spec is not in $1"; code=1; }
done
exit $code
