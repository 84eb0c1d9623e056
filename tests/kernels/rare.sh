#!/bin/sh
# The way that optimistic_max takes rarely is taken here: with small scores no block is computed again, with large ones many are.
#
#   rare.sh WARPSCORE ROOT
set -u
cd "$2" || exit 1
# The operations of a run's products.
flops() {
  "$1" run --device emu --stats -D head_dim=64 --shape b=2,hq=4,hkv=2,sq=256,sk=640 --schedule early,late --scale "$2" specs/optimistic_max.yaml |
    sed -n 's/^ *\([0-9]*\) tensor FLOPs.*/\1/p'
}
plain=$(flops "$1" 0.01) rare=$(flops "$1" 4)
printf 'operations of products: %s, with blocks computed again: %s\n' "$plain" "$rare"
[ "${plain:-0}" -gt 0 ] && [ "${rare:-0}" -gt "$plain" ]
