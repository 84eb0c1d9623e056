#!/bin/sh
# What those who wrote kernels for Blackwell stumbled over, planted into a right kernel one by one: each is refused by name, or
# `run` says that the result is wrong. Traps of synchronisation are in tests/defects and tests/play/faults; specs/BLACKWELL.md lists all.
#
#   traps.sh WARPSCORE ROOT
set -u
tool=$1
cd "$2" || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
. tests/cli/expect.sh
shape="--device emu --shape b=1,hq=1,sq=700,sk=1500 --timeout 60 --schedule early,random:4"

# trap_in SPEC SED CODE PATTERN: the kernel of SPEC is right, and with this edit it is not
trap_in() {
  expect 0 '' "$tool" gen "specs/$1.yaml" -o "$work/good.ptx"
  sed -e "$2" "$work/good.ptx" >"$work/bad.ptx"
  that '! cmp -s "$work/good.ptx" "$work/bad.ptx"' "the edit of $1 changes nothing: $2"
  # shellcheck disable=SC2086 # words are split on purpose
  expect 0 PASS "$tool" run "$work/good.ptx" $shape
  # shellcheck disable=SC2086
  expect "$3" "$4" "$tool" run "$work/bad.ptx" $shape
}

# A box of 128 columns: rows of 256 bytes, where the swizzle has 128.
trap_in b300_v14 's/^\(.. map: k_map .*box .*\), 64\] swizzle 128/\1, 128] swizzle 128/' 1 'swizzle'
# Descriptors that take the rows of K for 256 bytes: right up to the fourth K step, wrong from the fifth on.
trap_in b300_v14 '/S = Q @ K.T/,/tcgen05.commit/{s/%i1, 512;/%i1, 8;/;s/%i1, 514;/%i1, 10;/;s/%i1, 516;/%i1, 12;/;s/%i1, 518;/%i1, 14;/;}' 1 FAIL
# All four warps read the lanes of the first.
trap_in b300_v14 's/\[%tmem_lanes+0\];/[%tmem+0];/' 1 'of tensor memory'
# In a pair, the leader expects the bytes of one CTA only: the other one's are too many.
trap_in fa4_forward_2cta 's/\[%bar_Kj+0\], 32768;/[%bar_Kj+0], 16384;/' 1 'error'
# ... or those of two where one CTA delivers: for ever.
trap_in fa4_forward 's/\[%bar_Kj+0\], 32768;/[%bar_Kj+0], 65536;/' 1 'deadlock'
# In a pair, a CTA a work tile instead of two: half of the tiles have nobody.
trap_in b300_v39 's/^\(.. grid: \)2 \* /\1/' 1 FAIL
exit $failed
