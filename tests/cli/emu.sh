#!/bin/sh
# warpscore emu as a user meets it: results, exact messages, exit codes, files written after success only.
# usage: emu.sh WARPSCORE MAKE_NPY DATA WORK
set -u
tool=$1 make_npy=$2 data=$3 work=$4
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 99
cp "$data/scale.ptx" k.ptx
failed=0

# expect CODE WHOLE-OUTPUT ARGUMENTS...: exit code, and stdout and stderr to the letter
expect() {
  want=$1 text=$2
  shift 2
  got=$("$tool" emu "$@" 2>&1 </dev/null)
  code=$?
  if [ $code -ne "$want" ] || [ "$got" != "$text" ]; then
    printf 'FAIL emu %s\n  exit code %d, expected %d\n  got  %s\n  want %s\n' "$*" $code "$want" "$got" "$text"
    failed=1
  fi
}
that() {
  if ! eval "$1"; then
    echo "FAIL $2"
    failed=1
  fi
}
e='warpscore: error:'
floats() { tail -c "$1" "$2" | od -An -v -t fF -w4 | tr -d ' '; }

# ---- a run: y = 2.5 x, checked with another tool's arithmetic ----
"$make_npy" x.npy 1 1 10 100 7 || exit 99
expect 0 '' k.ptx --entry scale --grid 8 --block 128 --arg in:x.npy --arg 'out:f32[1000]=y.npy' --arg f32:2.5 --arg u32:1000 --arg 'zero:u32[1]=c.npy'
floats 4000 x.npy >x.txt
floats 4000 y.npy >y.txt
that '[ $(wc -l <y.txt) -eq 1000 ]' 'y has 1000 elements'
that 'paste x.txt y.txt | awk "{d = \$2 - 2.5 * \$1; if (d < 0) d = -d; m = \$1 < 0 ? -\$1 : \$1; if (d > 1e-5 * m || \$1 == 0) bad = 1} END {exit bad}"' 'y is 2.5 x'
that '[ "$(tail -c 4 c.npy | od -An -t u4 | tr -d " ")" = 1000 ]' '1000 threads wrote'
that 'head -c 128 y.npy | grep -q "(1000,)"' 'the shape is in the file'
# what the kernel does not write stays poisoned
expect 0 '' k.ptx --grid 1 --block 32 --arg in:x.npy --arg 'out:f32[8,4]=p.npy' --arg f32:1 --arg u32:31 --arg 'zero:u32[1]'
that '[ "$(tail -c 4 p.npy | od -An -t x4 | tr -d " ")" = a5a5a5a5 ]' 'the last element stays poisoned'
that 'head -c 128 p.npy | grep -q "(8, 4,)"' 'two extents'
for s in early late random:7; do
  expect 0 '' k.ptx --grid 8 --block 128 --schedule $s --threads 2 --watchdog 60 --arg in:x.npy --arg 'out:f32[1000]=s.npy' --arg f32:2.5 --arg u32:1000 --arg 'zero:u32[1]'
  that 'cmp -s y.npy s.npy' "schedule $s gives the same"
done
cp x.npy io.npy
expect 0 '' k.ptx --grid 8 --block 128 --arg inout:io.npy --arg inout:io.npy=io2.npy --arg f32:0x1p1 --arg u32:1000 --arg 'zero:u32[1]'
that 'cmp -s x.npy io.npy' 'an input that is not written comes back as it was'
that '! cmp -s x.npy io2.npy' 'inout has its own file'
that '"$tool" emu k.ptx --stats --grid 8 --block 128 --arg in:x.npy --arg "out:f32[1000]=s.npy" --arg f32:2.5 --arg u32:1000 --arg "zero:u32[1]" | grep -q "global 4000 bytes read"' '--stats counts'

# ---- faults: nothing is written ----
expect 1 "$e k.ptx: kernel 'scale', line 28: 'st.global.f32 [%rd6], %f3;': CTA (0,0,0) thread (0,0,0) writes 4 bytes at global address 0x0, far from any allocation" \
  k.ptx --block 1 --arg in:x.npy --arg u64:0 --arg f32:1 --arg u32:1 --arg 'zero:u32[1]=none.npy'
that '[ ! -e none.npy ]' 'a fault writes no file'
expect 2 "$e no/y.npy: cannot be written: No such file or directory" k.ptx --arg in:x.npy --arg 'out:f32[1000]=no/y.npy' --arg f32:2.5 --arg u32:1000 --arg 'zero:u32[1]' --grid 1000000 --block 1024

# ---- what is wrong with the arguments ----
kinds='expected in:FILE, inout:FILE[=FILE], out:TYPE[N]=FILE, zero:TYPE[N][=FILE] or u32, s32, u64, s64, f32, f64 with a value'
expect 2 "$e --arg x: $kinds" k.ptx --arg x
expect 2 "$e --arg i32:7: $kinds" k.ptx --arg i32:7
expect 2 "$e --arg u16:7: $kinds" k.ptx --arg u16:7
expect 2 "$e --arg f16:7: $kinds" k.ptx --arg f16:7
expect 2 "$e --arg u32:-1: '-1' found, expected a number that fits u32" k.ptx --arg u32:-1
expect 2 "$e --arg u32:4294967296: '4294967296' found, expected a number that fits u32" k.ptx --arg u32:4294967296
expect 2 "$e --arg s32:2147483648: '2147483648' found, expected a number that fits s32" k.ptx --arg s32:2147483648
expect 2 "$e --arg u64:18446744073709551616: '18446744073709551616' found, expected a number that fits u64" k.ptx --arg u64:18446744073709551616
expect 2 "$e --arg s64:: '' found, expected a number that fits s64" k.ptx --arg s64:
expect 2 "$e --arg f32:1.5x: '1.5x' found, expected a number that fits f32" k.ptx --arg f32:1.5x
expect 2 "$e --arg out:i4[3]=y: 'i4' found, expected one of u8 s8 u16 s16 u32 s32 u64 s64 f16 bf16 f32 f64" k.ptx --arg 'out:i4[3]=y'
for bad in 'out:f32=y' 'out:f32[]=y' 'out:f32[0]=y' 'out:f32[-1]=y' 'out:f32[3' 'out:f32[1,2,3,4,5,6,7,8,9]=y' 'out:f32[99999999999]=y' 'out:f32[4294967296,4294967296,4294967296]=y'; do
  expect 2 "$e --arg $bad: expected f32[N] with at most 8 extents from 1 and 2^36 bytes" k.ptx --arg "$bad"
done
expect 2 "$e --arg out:f32[3]: expected =FILE behind the shape" k.ptx --arg 'out:f32[3]'
expect 2 "$e --arg out:f32[3]=: expected =FILE behind the shape" k.ptx --arg 'out:f32[3]='
expect 2 "$e --arg zero:f32[3]y: nothing or =FILE may follow the shape" k.ptx --arg 'zero:f32[3]y'
expect 2 "$e --arg in:: a file is missing" k.ptx --arg in:
expect 2 "$e --arg inout:x.npy=: a file is missing" k.ptx --arg inout:x.npy=
expect 2 "$e nowhere.npy: cannot be opened: No such file or directory" k.ptx --arg in:nowhere.npy
printf 'not numpy' >bad.npy
expect 2 "$e bad.npy: it is no .npy file" k.ptx --arg in:bad.npy
head -c 500 x.npy >cut.npy
expect 2 "$e cut.npy: 372 bytes of elements found, expected 4000 for its shape" k.ptx --arg in:cut.npy
head -c 60 x.npy >cut2.npy
expect 2 "$e cut2.npy: it is cut short inside its header" k.ptx --arg in:cut2.npy
sed 's/<f4/>f4/' x.npy >big.npy
expect 2 "$e big.npy: element type '>f4' found, expected one of |u1 |i1 <u2 <i2 <u4 <i4 <u8 <i8 <f2 <f4 <f8" k.ptx --arg in:big.npy
sed 's/False/True /' x.npy >fortran.npy
expect 2 "$e fortran.npy: it is in Fortran order: save a C-order copy (numpy.ascontiguousarray)" k.ptx --arg in:fortran.npy
expect 2 "$e 1 arguments given, the kernel has 5 parameters" k.ptx --arg u32:1
expect 2 "$e --arg u32:3: parameter 3 'a' of the kernel is .f32 (4 bytes)" k.ptx --arg in:x.npy --arg u64:0 --arg u32:3 --arg u32:0 --arg u64:0
expect 2 "$e --arg f32:3: parameter 4 'n' of the kernel is .u32 (4 bytes)" k.ptx --arg in:x.npy --arg u64:0 --arg f32:3 --arg f32:3 --arg u64:0
expect 2 "$e --arg u32:9: parameter 5 'count' of the kernel is .u64 (8 bytes)" k.ptx --arg in:x.npy --arg u64:0 --arg f32:3 --arg u32:3 --arg u32:9
expect 2 "$e --arg in:x.npy: parameter 3 'a' of the kernel is .f32 (4 bytes)" k.ptx --arg in:x.npy --arg u64:0 --arg in:x.npy --arg u32:3 --arg u64:9

# ---- the other options ----
expect 2 "$e --grid: '' found, expected X, X,Y or X,Y,Z" k.ptx --grid ''
expect 2 "$e --grid: '1,,2' found, expected X, X,Y or X,Y,Z" k.ptx --grid 1,,2
expect 2 "$e --grid: '1,2,3,4' found, expected X, X,Y or X,Y,Z" k.ptx --grid 1,2,3,4
expect 2 "$e --block: '0' found, expected a number from 1 to 2147483647" k.ptx --block 0
expect 2 "$e --smem: '-1' found, expected a number from 0 to 2147483647" k.ptx --smem -1
expect 2 "$e --smem 300000: more than the device's 232448 bytes of shared memory" k.ptx --smem 300000 --arg u64:0 --arg u64:0 --arg f32:0 --arg u32:0 --arg u64:0
expect 2 "$e k.ptx: kernel 'scale': the launch shape (1,1,1) x (2000,1,1) is out of range" k.ptx --block 2000 --arg u64:0 --arg u64:0 --arg f32:0 --arg u32:0 --arg u64:0
expect 2 "$e --schedule: 'soon' is no value; see \`warpscore emu --help\`" k.ptx --schedule soon
expect 2 "$e --schedule: 'random:' is no value; see \`warpscore emu --help\`" k.ptx --schedule random:
expect 2 "$e --threads: 'x' is no value; see \`warpscore emu --help\`" k.ptx --threads x
expect 2 "$e --watchdog: '-1' is no value; see \`warpscore emu --help\`" k.ptx --watchdog -1
expect 2 "$e k.ptx: there is no kernel 'no'" k.ptx --entry no
expect 2 "$e emu takes one .ptx file; see \`warpscore emu --help\`" k.ptx k.ptx
expect 2 "$e --coverage takes no file; see \`warpscore emu --help\`" --coverage k.ptx
expect 2 "$e nowhere.ptx: cannot be opened: No such file or directory" nowhere.ptx
printf '.version 7.8\n.target sm_80\n.address_size 64\n.visible .entry a() { ret; }\n.visible .entry b() { ret; }\n' >two.ptx
expect 2 "$e two.ptx: several kernels: pick one with --entry NAME" two.ptx
expect 0 '' two.ptx --entry b
printf '.version 7.8\n.target sm_80\n.address_size 64\n' >none.ptx
expect 1 "$e none.ptx: there is no kernel in it" none.ptx
that '! env WARPSCORE_EMU=/nowhere/emu.so "$tool" emu k.ptx >out 2>&1; [ $? -eq 0 ] && grep -q "no emulator" out' 'without the emulator'

# ---- registers that are read before they are written ----
printf '.version 7.8\n.target sm_80\n.address_size 64\n.visible .entry a() {\n.reg .pred p;\n.reg .b32 t, x;\nmov.u32 t, %%tid.x;\nsetp.lt.u32 p, t, 3;\n@p mov.u32 x, 1;\nadd.u32 t, x, t;\nret;\n}\n' >maybe.ptx
sed 's/@p mov/@p mov.u32 t, 1; \/\//' maybe.ptx >never.ptx
expect 0 "warpscore: warning: kernel 'a', line 10: 'add.u32 t, x, t;': register 'x' may be read before it is written" maybe.ptx
expect 1 "warpscore: error: maybe.ptx: kernel 'a': 10:1: error: register 'x' may be read before it is written: 'add.u32 t, x, t;'" maybe.ptx --strict
expect 1 "warpscore: error: never.ptx: kernel 'a': 10:1: error: register 'x' is read but nothing has written it: 'add.u32 t, x, t;'" never.ptx
expect 0 "warpscore: warning: kernel 'a', line 10: 'add.u32 t, x, t;': register 'x' is read but nothing has written it" never.ptx --uninitialised warn
expect 2 "warpscore: error: --uninitialised: 'x' is no value; see \`warpscore emu --help\`" never.ptx --uninitialised x

# ---- memory that is read before it is written ----
printf '.version 7.8\n.target sm_80\n.address_size 64\n.visible .entry a() {\n.shared .align 4 .b8 s[64];\n.reg .b32 x;\nld.shared.u32 x, [s+16];\nret;\n}\n' >memory.ptx
sed 's/^ld/st.shared.u32 [s+16], 5; ld/' memory.ptx >written.ptx
unwritten="CTA (0,0,0) thread (0,0,0) reads 4 bytes of shared memory at 0x10, which nothing has written since the CTA began"
expect 0 "warpscore: warning: kernel 'a', line 7: 'ld.shared.u32 x, [s+16];': $unwritten" memory.ptx
expect 1 "warpscore: error: memory.ptx: kernel 'a', line 7: 'ld.shared.u32 x, [s+16];': $unwritten" memory.ptx --strict
expect 0 '' memory.ptx --uninitialised off
expect 0 '' written.ptx --strict

# ---- in order: what the kernel prints, then what is said about it ----
expect 0 "hi
warpscore: warning: kernel 'a', line 13: 'add.u32 t, x, t;': register 'x' may be read before it is written" "$data/hi.ptx"

# ---- races ----
printf '.version 7.8\n.target sm_80\n.address_size 64\n.visible .entry a() {\n.reg .b32 t;\n.shared .b32 s;\nmov.u32 t, %%tid.x;\nst.shared.b32 [s], t;\nret;\n}\n' >race.ptx
expect 0 '' race.ptx --block 32
expect 0 '' race.ptx --block 64 --race off
that '! "$tool" emu race.ptx --block 64 >out 2>&1 && grep -q "nothing orders the two" out' 'two warps write one word'
expect 2 "$e --race: 'x' is no value; see \`warpscore emu --help\`" race.ptx --race x

# ---- lists ----
expect 0 'k.ptx: everything is supported' --list-unsupported k.ptx
sed 's/red.global.add.u32/red.async.add.u32/' k.ptx >un.ptx
expect 1 "kernel 'scale': 29:2: this form of 'red' is not supported: 'red.async.add.u32'
un.ptx: 1 kernel cannot run" --list-unsupported un.ptx
printf '.version 7.8\n.target sm_80\n.address_size 64\n.visible .entry a() { oops }\n' >syntax.ptx
that '! "$tool" emu --list-unsupported syntax.ptx >out 2>&1 && grep -q "^4:[0-9]*: error: " out' 'a syntax error is listed with its place'
that '"$tool" emu --coverage | grep -q "^| .mma. | .sync .aligned .m16n8k16"' 'the coverage list has mma'

[ $failed -eq 0 ] && echo "warpscore emu is as expected"
exit $failed
