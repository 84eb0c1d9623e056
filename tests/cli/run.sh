#!/bin/sh
# A kernel all the way on the emulator: the grid of shapes, files in and out, NaN, strides, what --stats and --compare say.
# usage: run.sh WARPSCORE MAKE_NPY DATA SPECS HERE WORK
set -u
tool=$1 make=$2 data=$3 specs=$4 here=$5 work=$6
rm -rf "$work" && mkdir -p "$work" || exit 99
. "$(dirname "$0")/expect.sh"

run="$tool run --device emu"
spec=$specs/fa2_forward.yaml
copy=$data/copy.ptx

# ---- a kernel that is no attention: it runs, everything is where it belongs, and it fails for its values alone ----
expect 1 'nothing outside O and LSE changed' $run "$copy" --shape b=2,hq=3,sq=5,pad=8
expect 1 'FAIL' $run "$copy" --shape b=2,hq=3,sq=5,pad=8,layout=bhsd
that '! grep -q "never written" "$work/out"' 'copy writes every element'
expect 0 'PASS' $run "$copy" --shape sq=0

# ---- the grid ----
for variant in '-D head_dim=64' '-D head_dim=64 -D causal=true' '-D head_dim=128' '-D head_dim=128 -D causal=true' '-D dtype=f16 -D causal=true'; do
  expect 0 '12 shapes, 0 failed' $run $variant "$spec" --shapes "$here/shapes.txt"
done
expect 0 'PASS' $run -D head_dim=64 "$spec" --shape b=1,sq=70 --scale 0.5

# ---- files: the same values in every layout give the same bits ----
"$make" "$work/q.npy" 2 4 37 64 1 && "$make" "$work/k.npy" 2 2 50 64 2 && "$make" "$work/v.npy" 2 2 50 64 3 || exit 99
"$tool" gen -D head_dim=64 "$spec" -o "$work/k64.ptx" || exit 99
"$tool" gen -D head_dim=64 -D causal=true "$spec" -o "$work/c64.ptx" || exit 99
files="--q $work/q.npy --k $work/k.npy --v $work/v.npy"
expect 0 'b=2,hq=4,hkv=2,sq=37,sk=50' $run "$work/k64.ptx" $files --o "$work/o1.npy" --lse "$work/l1.npy"
expect 0 'PASS' $run "$work/k64.ptx" $files --out "$work/o2.npy" --lse "$work/l2.npy" --layout bhsd --pad 16
that 'cmp -s "$work/o1.npy" "$work/o2.npy" && cmp -s "$work/l1.npy" "$work/l2.npy"' 'O and LSE do not depend on the strides'
that 'head -c 128 "$work/o1.npy" | grep -q "(2, 4, 37, 64,)"' 'O has the shape of Q'
that 'head -c 128 "$work/l1.npy" | grep -q "(2, 4, 37,)"' 'LSE has the shape of Q without its columns'
expect 0 'PASS' $run "$work/k64.ptx" --q "$work/q.npy" --shape hkv=4,sk=9
expect 2 '--q: shape (2, 4, 37, 64) found, but --shape says sq=70' $run "$work/k64.ptx" --q "$work/q.npy" --shape sq=70
expect 2 '--v: shape (2, 2, 50, 64) found, but --shape says hkv=4' $run "$work/k64.ptx" --v "$work/v.npy" --shape hkv=4
expect 2 '--k: shape (2, 2, 50, 64) found, but --shape says b=1' $run "$work/k64.ptx" --k "$work/k.npy" --shape b=1
expect 0 'b=2,hq=4,hkv=2,sq=37,sk=50' $run "$work/k64.ptx" $files --shape b=2,hq=4,hkv=2,sq=37,sk=50
expect 2 'head dim 64 found, the kernel has 128' $run "$copy" --q "$work/q.npy"
"$make" "$work/k3.npy" 3 2 50 64 2
expect 2 'batch' $run "$work/k64.ptx" --q "$work/q.npy" --k "$work/k3.npy"
expect 2 'batch, heads or lengths differ' $run "$work/k64.ptx" --k "$work/k.npy" --v "$work/k3.npy"
expect 2 'must be a multiple of hkv' $run "$work/k64.ptx" --shape hq=5,hkv=2
expect 2 'cannot be written' $run "$work/k64.ptx" --shape sq=3 --o "$work/no/folder/o.npy"
that '! grep -q "^device" "$work/out"' 'that is said before anything runs'
expect 2 'cannot be written: Is a directory' $run "$work/k64.ptx" --shape sq=3 --lse "$work"

# ---- files for the tensors that a spec brings ----
"$make" "$work/four.npy" 1 1 1 4 5 && LC_ALL=C sed 's/(1, 1, 1, 4,)/(4,)         /' "$work/four.npy" >"$work/slopes.npy" || exit 99
alibi="$run -D head_dim=64 $specs/fa2_alibi.yaml --shape hq=4,hkv=4,sq=40"
expect 0 'PASS' $alibi --in slopes="$work/slopes.npy" --o "$work/oa.npy"
expect 0 'PASS' $alibi --o "$work/ob.npy"
that '! cmp -s "$work/oa.npy" "$work/ob.npy"' 'the slopes of the file are others'
expect 2 '--in slopes: shape (4) found, expected (2)' $run -D head_dim=64 "$specs/fa2_alibi.yaml" --in slopes="$work/slopes.npy"
expect 2 'rank 4 found, expected 1' $alibi --in slopes="$work/four.npy"
expect 2 '--in slope: the kernel has no such input; it has q, k, v, slopes' $alibi --in slope="$work/slopes.npy"
expect 2 '--in o: the kernel has no such input' $alibi --in o="$work/slopes.npy"
expect 2 '--in slopes is given twice' $alibi --in slopes="$work/slopes.npy" --in slopes="$work/slopes.npy"
expect 2 '--in slopes: expected NAME=FILE.npy' $alibi --in slopes
expect 0 'b=2,hq=4,hkv=2,sq=37,sk=50' $run "$work/k64.ptx" --in q="$work/q.npy" --in k="$work/k.npy" --v "$work/v.npy" --o "$work/o3.npy"
that 'cmp -s "$work/o1.npy" "$work/o3.npy"' '--in q is --q'
expect 2 '--in q and --q exclude each other' $run "$work/k64.ptx" --in q="$work/q.npy" --q "$work/q.npy"

# ---- NaN: from a visible key or query to its rows, and nowhere else. Query row 3 of head 1; key 20 of KV head 0 ----
"$make" "$work/qn.npy" 2 4 37 64 1 $(( (1 * 37 + 3) * 64 + 9 )) nan
"$make" "$work/kn.npy" 2 2 50 64 2 $((20 * 64 + 5)) nan
expect 0 'PASS' $run "$work/k64.ptx" --q "$work/qn.npy" --k "$work/k.npy" --v "$work/v.npy"
expect 0 'PASS' $run "$work/k64.ptx" --q "$work/q.npy" --k "$work/kn.npy" --v "$work/v.npy"
expect 0 'PASS' $run "$work/c64.ptx" --q "$work/qn.npy" --k "$work/kn.npy" --v "$work/v.npy" --layout bhsd

# ---- strides that the kernel cannot take; sizes that no memory holds ----
expect 2 'tensor q: dim 2 (queries): stride 140 elements = 280 bytes found' $run "$work/k64.ptx" --shape b=2,sq=9 --pad 4
expect 2 'expected a multiple of 16 bytes' $run "$work/k64.ptx" --shape b=2,sq=9 --pad 4
expect 2 'too large' $run "$work/k64.ptx" --shape b=2000000000,hq=2000000000,sq=2000000000
expect 4 'GB of host memory are needed for the tensors and the reference' $run "$work/k64.ptx" --shape b=2000000,hq=2000000,sq=16
expect 4 'GB are free' $run "$work/k64.ptx" --shape sq=2000000000

# ---- what else it prints ----
expect 0 'million a second and core' $run "$work/k64.ptx" --shape sq=64 --stats
that 'grep -qx "resources registers not known without the assembler, [0-9]* bytes of shared memory" "$work/out"' 'no guess at registers'
that 'grep -Eq "stats +[1-9][0-9]* warp instructions" "$work/out" && grep -Eq " [1-9][0-9]* tensor FLOPs, [1-9][0-9]* exponentials, [1-9]" "$work/out"' 'the counters count'
expect 0 'compared  O within 0 ulps (0 elements differ)' $run "$work/k64.ptx" --shape sq=64 --compare emu
expect 0 '"pass": true' $run "$work/k64.ptx" --shape sq=64 --shape sq=65 --format json --stats
that '[ "$(head -c 1 "$work/out")" = "{" ] && [ "$(grep -c "\"plain_frobenius\"" "$work/out")" -eq 4 ]' 'json has both shapes and nothing else'

# ---- the emulator in the place of the driver: what is said about GPUs, and bench ----
mkdir "$work/gpu" && ln -s "$WARPSCORE_EMU" "$work/gpu/libcuda.so.1"
gpu="env LD_LIBRARY_PATH=$work/gpu $tool"
expect 0 'device    cuda:0: warpscore CPU emulator (the best of 1 GPU)' $gpu run "$work/k64.ptx" --shape sq=64 --compare emu
expect 0 'TFLOP/s' $gpu bench "$work/k64.ptx" --shape sq=64 --shape sq=100,hq=4,hkv=1,pad=8 --repeat 3 --warmup 1
that '[ "$(grep -c "^b=1,hq=" "$work/out")" -eq 2 ]' 'bench prints a line a shape'
expect 0 '"ptx_fnv1a"' $gpu bench "$work/c64.ptx" --shape sq=64 --repeat 2 --warmup 0 --format json
expect 2 'must be a multiple of hkv' $gpu bench "$work/k64.ptx" --shape hq=5,hkv=2
expect 4 'no such device' $gpu run "$work/k64.ptx" --device cuda:5
expect 2 '--repeat' $gpu bench "$work/k64.ptx" --repeat 0

# ---- a kernel that hangs ----
sed 's/^\( *\)mov.u32 %r0, %ctaid.x;/HANG: bra HANG;\n&/' "$copy" >"$work/hang.ptx"
that '! cmp -s "$copy" "$work/hang.ptx"' 'a loop was put in'
expect 1 'emu: the kernel did not finish within 0.2 s' $run "$work/hang.ptx" --timeout 0.2
expect 0 'PASS' $run "$work/k64.ptx" --shape sq=64 --timeout 100 --compare emu
expect 1 'emu: the kernel did not finish within 0.02 s' $run "$work/k64.ptx" --shape sq=2000,sk=2000 --timeout 0.02 # slow is late, too
expect 2 'expected seconds > 0' $run "$work/k64.ptx" --timeout 0

# ---- completion orders ----
hopper=$specs/fa3_overlap.yaml
expect 0 'out of order' $run -D head_dim=64 "$hopper" --shape sq=100 --schedule early,late,random:1 --stats
expect 2 "--schedule: 'soon' found, expected early, late or random:SEED" $run "$work/k64.ptx" --schedule early,soon
expect 2 "--schedule: 'random:x' found" $run "$work/k64.ptx" --schedule random:x
expect 2 '--schedule: nothing found' $run "$work/k64.ptx" --schedule ,
"$tool" gen -D head_dim=64 "$hopper" -o "$work/overlap.ptx" || exit 99
# Nobody waits for the copies: right where they complete at once, and only there.
sed 's/^ *cp.async.wait_group [0-9]*;/    \/\/ &/' "$work/k64.ptx" >"$work/hasty.ptx"
WSEMU_RACE=off
export WSEMU_RACE
expect 0 'PASS' $run "$work/hasty.ptx" --shape sq=100 --schedule early
expect 1 'late gives other bits' $run "$work/hasty.ptx" --shape sq=100 --schedule early,late
unset WSEMU_RACE
# The emulator goes by what orders the accesses, not by the result, and names both statements.
expect 1 'of thread (0,0,0) writes, and nothing orders the two' $run "$work/hasty.ptx" --shape sq=100 --schedule early
that 'grep -q "^warpscore: error: emu: launching fa2_forward with [0-9]* CTAs: kernel .fa2_forward., line .* (CUDA_ERROR_ILLEGAL_INSTRUCTION, 715)$" "$work/out"' 'the story comes first'
that 'grep -q "ldmatrix.*fa2_forward.yaml:[0-9]*): CTA .*, line [0-9]*: .cp.async.*fa2_forward.yaml:[0-9]*)" "$work/out"' 'the lines of both statements'

# ---- few multiprocessors: a CTA of a persistent kernel works on several tiles ----
for sms in 1 2; do
  expect 0 'PASS' $run -D head_dim=64 "$specs/fa3_forward.yaml" --shape sq=600,sms=$sms --schedule early,late,random:1
done
expect 2 'sm_count: 400 found, but the device has' $run "$work/overlap.ptx" --sms 400

# ---- the watchdog: a wait that lasts too long says where ----
expect 0 'PASS' $run -D head_dim=64 -D watchdog=100 "$specs/fa3_forward.yaml" --shape sq=300 --schedule early,late,random:1
that '! grep -q "watchdog" "$work/overlap.ptx"' 'without -D watchdog nothing of it is in the kernel'
expect 1 'error: watchdog: `compute[' $run -D head_dim=64 -D watchdog=1e-6 "$hopper" --schedule random:1
that 'grep -q "has waited for 1e-06 s: .*fa3_overlap.yaml:[0-9]*: .wait [qkv]" "$work/out"' 'the statement that waits'
that 'grep -q "^  parity [01] of the mbarrier at byte [0-9]* of shared memory ([qkv]: full, number [01]); work tile [0-9]*.*; CTA [0-9]*, thread [0-9]*$" "$work/out"' 'what for'
expect 2 '-D watchdog=0: expected the seconds' $run -D watchdog=0 "$hopper"
expect 2 '-D watchdog=1: it watches the waits at mbarriers' $run -D watchdog=1 "$spec"
# K is not released in the loop: the emulator sees by itself that nothing goes on.
awk '/- release Kj/ && ++n == 2 { next } { print }' "$hopper" >"$work/forgets.yaml"
for option in '-D watchdog=1' ''; do
  expect 1 'deadlock: no warp can run' timeout 20 $run --no-play -D head_dim=64 $option "$work/forgets.yaml" --shape sq=100,sk=1000
  that 'grep -q "^  warps 4-11 wait for an mbarrier, line .*(from .*forgets.yaml:[0-9]*)$" "$work/out"' 'warps that wait alike are one line'
done
expect 1 'error: deadlock' $run -D head_dim=64 "$work/forgets.yaml"

# sm_80 has mbarriers, too
handover=$here/../gen/data/good/handover.yaml
expect 0 'PASS' $run -D watchdog=100 -D poll=leader "$handover" --shape sq=100 --schedule early,late,random:1
expect 1 'error: watchdog: `' $run -D watchdog=1e-6 "$handover" --shape sq=300 --schedule random:1
that 'grep -q "has waited for 1e-06 s: .*handover.yaml:[0-9]*: .wait " "$work/out"' 'the statement that waits'
that 'grep -q "^  parity [01] of the mbarrier at byte [0-9]* of shared memory ([a-z]*.*, number [0-9])" "$work/out"' 'what for'

# ---- heads that are packed: as many for each key head as the kernel was generated for ----
packed=$specs/fa3_gqa_packed.yaml
expect 0 'b=1,hq=8,hkv=1,sq=256,sk=256' $run -D head_dim=64 "$packed"
expect 0 'b=1,hq=16,hkv=4,sq=9,sk=100' $run -D head_dim=64 -D group=4 "$packed" --shape hkv=4,sq=9,sk=100
expect 0 'b=1,hq=12,hkv=3,sq=9,sk=9' $run -D head_dim=64 -D group=4 "$packed" --shape hq=12,sq=9
expect 2 'hq (8) must be 4 times hkv (1): the kernel was generated for that' $run -D group=4 "$packed" --shape hq=8,hkv=1
expect 2 'hq (6) must be 4 times hkv (1)' $run -D group=4 "$packed" --shape hq=6
expect 1 'does not hold whole queries of 3 heads: `group` must divide its rows' $run -D group=3 "$packed"
expect 1 'a part by TMA that has not all 128 heads' $run -D group=128 -D groups=2 "$packed"
"$tool" gen -D head_dim=64 "$packed" -o "$work/packed.ptx" || exit 99
sed 's/^.. ratio: heads kv_heads 8/\/\/ ratio: heads kv_heads 4/' "$work/packed.ptx" >"$work/lies.ptx"
expect 2 'heads (8, from tensor q) must be 4 times kv_heads (1, from tensor k)' $run "$work/lies.ptx"
# One query, 8 heads: an eighth of the CTAs and of the products.
"$tool" run --device emu -D head_dim=64 "$packed" --shape b=2,hkv=2,sq=1,sk=512 --stats --format json >"$work/few.json"
"$tool" run --device emu -D head_dim=64 -D block_n=128 "$specs/fa3_one_consumer.yaml" --shape b=2,hq=16,hkv=2,sq=1,sk=512 --stats --format json >"$work/many.json"
flops() { sed -n 's/.*"tensor_flops": \([0-9]*\).*/\1/p' "$1"; }
that '[ $(($(flops "$work/few.json") * 8)) = "$(flops "$work/many.json")" ]' 'an eighth of the products'

# ---- what a tensor map cannot say ----
expect 2 'tensor q: dim 2 (queries): stride 134 elements = 268 bytes found, expected a multiple of 16 bytes: pad the dims inside it' $run "$work/overlap.ptx" --shape sq=100,pad=2

# ---- kernels that lie ----
sed 's/ex2.approx.ftz.f32/neg.f32/; s/ex2.approx.f32/neg.f32/' "$work/k64.ptx" >"$work/wrong.ptx"
that '! cmp -s "$work/k64.ptx" "$work/wrong.ptx"' 'an instruction was exchanged'
expect 1 'FAIL' $run "$work/wrong.ptx" --shape sq=64
sed 's/^\.target sm_80/.target sm_90a/' "$work/k64.ptx" >"$work/other.ptx"
expect 1 "'.target sm_90a' found, but the manifest says target sm_80" $run "$work/other.ptx"
sed 's/^\.version .*/.version 99.0/' "$work/k64.ptx" >"$work/newer.ptx"
expect 4 'PTX version 99.0' $run "$work/newer.ptx"
entry=$(grep -n '^\.visible \.entry' "$work/k64.ptx" | cut -d: -f1)
head -n $((entry + 8)) "$work/k64.ptx" >"$work/cut.ptx"
expect 1 'parameter 9 cannot be read' $run "$work/cut.ptx"
head -n $((entry + 100)) "$work/k64.ptx" >"$work/cut.ptx"
expect 1 'loading kernel' $run "$work/cut.ptx"

[ $failed -eq 0 ] && echo "all of run is as expected"
exit $failed
