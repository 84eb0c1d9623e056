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
shape="--device emu --shape b=1,hq=1,sq=700,sk=1500 --timeout 60 --schedule early,late,random:4,random:5"

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
# The number of a CTA taken for that of its pair.
trap_in fa4_forward_2cta '/mov.u32 %tile, %ctaid.x;/,/shr.u32 %tile, %tile, 1;/{/shr.u32/d;}' 1 'were never written'
# The unit of 16 bytes XORed with two of the row's three bits (V46): P lies where the product does not look.
trap_in b300_v15 's/and.b32 \(%[a-z0-9]*\), \1, 7;/and.b32 \1, \1, 3;/' 1 FAIL
# One named barrier for two groups that meet apart, and one that a part of a warp comes to.
trap_in fa4_forward 's/bar.sync %i0, 64;/bar.sync 9, 64;/' 1 'error'
trap_in fa4_forward 's/bar.sync %i0, 64;/{\n    .reg .pred %half;\n    setp.lt.u32 %half, %lane, 16;\n    @%half &\n    }/' 1 '.aligned instruction'

# trap_of SPEC SED PATTERN FOUND OPTIONS...: the schedule with this edit is refused, and where nobody asks, `run` finds it
trap_of() {
  spec=$1 said=$3 found=$4
  sed -e "$2" "specs/$1.yaml" >"$work/$1.yaml"
  that '! cmp -s "specs/$spec.yaml" "$work/$spec.yaml"' "the edit of $1 changes nothing: $2"
  shift 4
  # shellcheck disable=SC2086
  expect 0 PASS "$tool" run "specs/$spec.yaml" $shape "$@"
  expect 1 "$said" "$tool" check "$work/$spec.yaml" "$@"
  [ -z "$found" ] && return
  # shellcheck disable=SC2086
  expect 1 "$found" "$tool" run --no-play "$work/$spec.yaml" $shape "$@"
}

# A barrier of whole warps in the branch of one thread.
trap_of fa4_forward 's/^\( *\)- wait q\[i\]$/\1- sync\n&/' 'needs all threads of the role' ''
# In a pair, the rows of the leader's mask for both.
trap_of fa4_forward_2cta 's/rows(2 \* i + rank of 4), k/rows(2 * i of 4), k/' 'mask' FAIL -D causal=true
# Statistics in tensor memory published before they are written: right as long as nothing is late.
trap_of fa4_forward_d256 '/- commit st$/d;s/^\( *\)- write a -> sj.cols(0..0)/\1- commit st\n&/' 'not ordered' 'which another warp stored without'
# O leaves through Q's memory while the next tile's Q is read there.
shape="--device emu --shape b=1,hq=3,sq=700,sk=300,sms=1 --timeout 60 --schedule early,late,random:4,random:5"
trap_of fa4_forward_d192 '/- wait o_left\[i\]$/d;s/^\( *\)- load q\[t\].rows(i of 2) -> Q\[i\]/&\n\1- wait o_left[i]/' 'not ordered' 'nothing orders the two'

# Kernels of one file that disagree about the shape of what lies between them.
expect 1 'tensors of equal name are the same memory' "$tool" check tests/gen/data/bad/workspace_shapes.yaml

# Registers that ptxas does not move, because it cannot know how many there are: 128 for each of 512 threads, and 844 bytes spilled.
if [ -n "${PTXAS:-}" ] || PATH=$PATH:/usr/local/cuda/bin command -v ptxas >/dev/null; then
  mkdir -p "$work/templates/common"
  sed 's/^\.minnctapersm {{ctas}}{{cluster}}/{{cluster}}/' templates/common/module.ptx >"$work/templates/common/module.ptx"
  expect 1 "'setmaxnreg' ignored; unable to determine register count at entry" "$tool" gen --no-play --templates "$work/templates" --cubin "$work/k.cubin" specs/fa4_forward.yaml
fi
exit $failed
