#!/bin/sh
# warpscore probe: what it prints, against files; where elements lie, against addresses worked out by hand from the PTX ISA's
# swizzling modes, canonical layouts and fragments; with the emulator, against a device.
# usage: probe.sh [--update] WARPSCORE SPECS GOLDEN WORK
set -u
update=
[ "$1" = --update ] && update=1 && shift
tool=$1 specs=$2 golden=$3 work=$4
rm -rf "$work" && mkdir -p "$work" || exit 99
. "$(dirname "$0")/expect.sh"

probe="$tool probe"
fa2=$specs/fa2_forward.yaml fa3=$specs/fa3_forward.yaml fa4=$specs/fa4_forward.yaml

# same NAME ARGUMENTS...: the output is that of the file
same() {
  name=$1
  shift
  $probe "$@" >"$work/$name" 2>&1 </dev/null
  [ -n "$update" ] && cp "$work/$name" "$golden/$name"
  that 'diff -u "$golden/$name" "$work/$name"' "probe $*: not as in $golden/$name"
}
same fa2_list.txt "$fa2"
same fa2_q64.txt "$fa2" -D head_dim=64 --buffer Q
same fa2_k96.txt "$fa2" -D head_dim=96 --buffer K --stage 1 --rows 0..4 --cols 80..95
same fa2_s.txt "$fa2" --operand S --cols 0..8
same fa3_list.json "$fa3" --format json
same fa3_k.txt "$fa3" --buffer K --rows 0..7
same fa3_v.txt "$fa3" --buffer V --stage 1 --rows 8..10 --cols 60..71
same fa3_qf.txt "$fa3" --operand compute.Qf --rows 7..8
same fa3_m.txt "$fa3" --operand m
same fa4_list.txt "$fa4"
same fa4_kv96.txt "$fa4" -D head_dim=96 --buffer KV --stage 2 --rows 0..3
same fa4_p.txt "$fa4" --buffer P --element 1 --rows 30..33 --cols 0..7
same fa4_s.txt "$fa4" --buffer S --element 1 --rows 0..1 --cols 0..3
same v47_rows8.txt "$specs/b300_v47.yaml" -D order=rows8 --buffer KV --rows 7..8 --cols 56..71
same fa4_scale.txt "$fa4" --buffer Scale --rows 0..3
same fa4_x.txt "$fa4" --operand softmax.x --rows 31..32
same fa4_kv.json "$fa4" --buffer KV --rows 1 --cols 0..8 --format json
[ -n "$update" ] && exit $failed

# ---- addresses by hand: at ADDRESS ROW COLUMN ARGUMENTS..., the address in bytes from the slot's first ----
at() {
  want=$1 row=$2 col=$3
  shift 3
  first=$($probe "$@" --rows 0 --cols 0 --format json | sed -n 's/.*"address": \([0-9]*\).*/\1/p')
  found=$($probe "$@" --rows $row --cols $col --format json | sed -n 's/.*"address": \([0-9]*\).*/\1/p')
  that '[ -n "$found" ] && [ $((found - first)) -eq $((want)) ]' "element ($row, $col) of $*: at $((found - first)), by hand $want"
}
# rows of 128 bytes: byte a lies at a ^ (a >> 7 & 7) << 4
for e in '0x10 0 8' '0x90 1 0' '0x80 1 8' '0x3f0 7 0' '0x38e 7 63' '0x400 8 0' '0x4b8 9 20' '0x3f8e 127 63'; do
  at $e "$fa3" --buffer Q
  at $e "$fa3" --buffer Q --stage 1
  at $e "$fa4" --buffer KV --stage 1
  at $e "$fa2" -D head_dim=64 --buffer Q
done
# two such panels, 128 rows each
for e in '0x10 0 8' '0x90 1 0' '0x80 1 8' '0x38e 7 63' '0x4000 0 64' '0x400 8 0' '0x89a 17 5' '0x7F8E 127 127'; do at $e "$fa3" --buffer V; done
# rows of 64 bytes: a ^ (a >> 7 & 3) << 4
for e in '0x10 0 8' '0x40 1 0' '0x90 2 0' '0x80 2 8' '0x1c0 7 24' '0x200 8 0' '0x2000 0 32'; do at $e "$fa4" -D head_dim=96 --buffer KV; done
# rows of 32 bytes: a ^ (a >> 7 & 1) << 4
sed 's/\(  [QKV]: {.*\)}/\1, swizzle: 32}/' "$fa3" >"$work/narrow.yaml"
for e in '0x10 0 8' '0x70 3 8' '0x90 4 0' '0x80 4 8' '0x100 8 0' '0x1000 0 16'; do at $e "$work/narrow.yaml" --buffer K; done
# without a swizzle, 256 bytes a row
sed 's/\(  [QKV]: {.*\)}/\1, swizzle: 0}/' "$fa3" >"$work/plain.yaml"
for e in '0x10 0 8' '0x100 1 0' '0x7ffe 127 127'; do at $e "$work/plain.yaml" --buffer K; done

# ---- descriptors by hand: two panels of 128 rows; 8 rows are 1024 bytes; steps of 32 bytes, then the next panel ----
expect 0 '0x4000004000001000' $probe "$fa3" --buffer K
that 'grep -qF "start of step 0: 0x1000, 1: 0x1002, 2: 0x1004, 3: 0x1006, 4: 0x1400, 5: 0x1402, 6: 0x1404, 7: 0x1406" "$work/out"' 'steps of a K-major operand'
expect 0 '0x4000004004002000' $probe "$fa3" --buffer V
that 'grep -qF "start of step 0: 0x2000, 1: 0x2080, 2: 0x2100" "$work/out"' 'steps of an N-major operand: 16 rows of 128 bytes'
expect 0 '0x4000404004001000' $probe "$fa4" --buffer KV
expect 0 '0x8000402002000C00' $probe "$fa4" -D head_dim=96 --buffer KV
expect 0 '0xC000001001002000' $probe "$work/narrow.yaml" --buffer V
# what the probe says is what the kernel holds: the high word of a descriptor, and the distance of its panels
"$tool" gen "$fa3" -o "$work/fa3.ptx"
that 'grep -q "0x40000040" "$work/fa3.ptx" && grep -q "0x4000000" "$work/fa3.ptx"' 'the words are in the kernel'

# ---- registers by hand: every element of a tile, by the fragments of m64nNk16 ----
numbers() { sed -n 's/.*"row": \([0-9]*\), "col": \([0-9]*\), "warp": \([0-9]*\), "lane": \([0-9]*\), "register": \([0-9]*\), "half": \(-*[0-9]*\).*/\1 \2 \3 \4 \5 \6/p'; }
$probe "$fa3" --operand S --rows 0..63 --cols 0..127 --format json | numbers >"$work/acc"
that '[ "$(awk "{ g = int(\$4 / 4); t = \$4 % 4; i = \$5; if (\$1 != 16 * \$3 + g + 8 * (int(i / 2) % 2) || \$2 != 8 * int(i / 4) + 2 * t + i % 2) bad++ } END { print NR, bad + 0 }" "$work/acc")" = "8192 0" ]' 'accumulators'
$probe "$fa3" --operand Qf --rows 0..63 --cols 0..127 --format json | numbers >"$work/a"
that '[ "$(awk "{ g = int(\$4 / 4); t = \$4 % 4; i = 2 * (\$5 % 4) + \$6; if (\$1 != 16 * \$3 + g + 8 * (int(i / 2) % 2) || \$2 != 16 * int(\$5 / 4) + 2 * t + i % 2 + 8 * int(i / 4)) bad++ } END { print NR, bad + 0 }" "$work/a")" = "8192 0" ]' 'A fragments'

# ---- what is not there ----
expect 2 'fa3_forward has no such buffer; it has Q, K, V, Os' $probe "$fa3" --buffer S
expect 2 'there is no such register tile; there are' $probe "$fa3" --operand K
expect 2 'ask for softmax.a or correction.a' $probe "$fa4" --operand a
expect 2 '--rows 120..128: the tile has rows 0..127' $probe "$fa3" --buffer K --rows 120..128
expect 2 "--cols: '9..8' found, expected A..B with A not above B" $probe "$fa3" --buffer K --cols 9..8
expect 2 "--rows: '0-7' found" $probe "$fa3" --buffer K --rows 0-7
expect 2 '--stage 2: K has 2 stages; they are counted from 0' $probe "$fa3" --buffer K --stage 2
expect 2 '--element 1: K has 1 element' $probe "$fa3" --buffer K --element 1
expect 2 'exclude each other' $probe "$fa3" --buffer K --operand S
expect 2 '--check is for buffers' $probe "$fa3" --check --operand S
expect 2 '--rows and --cols belong to the table of --buffer NAME or --operand TILE' $probe "$fa3" --rows 0..3
expect 2 '--rows and --cols belong to the table' $probe "$fa3" --check --buffer K --cols 0..3
expect 2 '--element and --stage belong to --buffer NAME' $probe "$fa3" --stage 1
expect 2 '--device belongs to --check' $probe "$fa3" --buffer K --device emu
expect 2 'is not one of the choices' $probe "$fa3" -D head_dim=12

# ---- the same asked of a device ----
if [ -n "${WARPSCORE_EMU:-}" ]; then
  check="$probe --check --device emu"
  for spec in "$fa2" "$fa3" "$fa4" "$specs/fa3_cluster.yaml" "$specs/fa3_two_consumers.yaml" "$specs/b300_v14.yaml" "$work/narrow.yaml" "$work/plain.yaml"; do
    expect 0 'PASS' $check "$spec"
    that '! grep -q FAIL "$work/out"' "every buffer of $spec"
  done
  expect 0 'by TMA; right operand of lines' $check "$fa3" --buffer V --stage 1 -D dtype=f16
  expect 0 'left operand of lines' $check "$fa4" --buffer Q --element 1 -D head_dim=96
  expect 0 'by threads' $check "$fa2" --buffer K -D head_dim=96
  # tensor memory: written, read back, and multiplied from where the table says
  expect 0 'elements by tcgen05.st; left operand of lines 84, 99, K-major; left operand of lines 86, 101, K-major' $check "$fa4" --buffer P --element 1
  expect 0 'PASS  S: 128 x 128 elements by tcgen05.st' $check "$fa4" --buffer S
  expect 0 'PASS  St: 128 x 2 elements by tcgen05.st' $check "$specs/fa4_forward_d256.yaml" --buffer St --stage 1
  expect 0 'PASS  KV' $check "$specs/b300_v47.yaml" -D order=rows8 --buffer KV
  expect 4 'no emulator' env WARPSCORE_EMU=/nowhere/emu.so $check "$fa3"
  # a kernel that puts units elsewhere is found out
  mkdir -p "$work/templates/mma" && sed 's/^    xor.b32 {{unit}}, {{unit}}, {{low}};/    mov.u32 {{unit}}, {{unit}};/' "$(dirname "$0")/../../templates/mma/mma.ptx" >"$work/templates/mma/mma.ptx"
  expect 1 'differ; the first: shared memory, element (1, 0): expected element (1, 0), found number 136' $check "$fa2" --buffer K --templates "$work/templates"
  sed 's/^== swizzle unit row mask low/== swizzle unit row mask/' "$(dirname "$0")/../../templates/mma/mma.ptx" >"$work/templates/mma/mma.ptx"
  expect 2 'mma.ptx:' $check "$fa2" --buffer K --templates "$work/templates"
  # all warps at the lanes of the first, and a product that starts a step late: the element is named
  rm -rf "$work/templates" && mkdir -p "$work/templates/tcgen05"
  sed 's/shl.b32 {{lanes}}, {{lanes}}, 21;/mov.u32 {{lanes}}, 0;/' "$(dirname "$0")/../../templates/tcgen05/tcgen05.ptx" >"$work/templates/tcgen05/tcgen05.ptx"
  expect 1 'emu' $check "$fa4" --buffer S --templates "$work/templates"
  sed 's/\[{{a}}+{{at}}\], {{b}}/[{{a}}+{{at}}+8], {{b}}/' "$(dirname "$0")/../../templates/tcgen05/tcgen05.ptx" >"$work/templates/tcgen05/tcgen05.ptx"
  expect 1 'left operand of lines 84, 99, K-major (0, 0): expected element (0, 0), found number 16' $check "$fa4" --buffer P --templates "$work/templates"
  # a template of other arguments is an error: without the instruction the kernel would wait for ever
  rm -rf "$work/templates" && mkdir -p "$work/templates/tma"
  sed 's/^== mbarrier_expect bar at bytes/== mbarrier_expect bar at bytes more/' "$(dirname "$0")/../../templates/tma/mbarrier.ptx" >"$work/templates/tma/mbarrier.ptx"
  expect 2 'template `mbarrier_expect` has 4 arguments and 0 lists, the generator gives 3 and 0' timeout 20 $check "$fa3" --templates "$work/templates"
fi

[ $failed -eq 0 ] && echo "all of probe is as expected"
exit $failed
