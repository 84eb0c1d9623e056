#!/bin/sh
# `gen --cubin` refuses a kernel that ptxas assembles only by giving up what the schedule asks for, and says what helps.
#
#   cubin.sh WARPSCORE ROOT
#
# Exit code 77 (skipped) where there is no ptxas.
set -u
tool=$1
cd "$2" || exit 1
if [ -n "${PTXAS:-}" ]; then ptxas=$(command -v "$PTXAS"); else ptxas=$(PATH=$PATH:/usr/local/cuda/bin && command -v ptxas); fi
if [ -z "$ptxas" ]; then
  echo "no ptxas: what it gives up is not tested"
  exit 77
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
. tests/cli/expect.sh
one=specs/fa3_one_consumer.yaml
gen="$tool gen --no-play -D head_dim=64 -D block_n=64 --cubin $work/k.cubin"

expect 0 'Used' $gen "$one"

# S is read while its product is in flight: the products are serialised.
sed '/- await S$/d' "$one" >"$work/early.yaml"
expect 1 'ptxas gives up what the schedule asks for' $gen "$work/early.yaml"
that 'grep -q "wgmma.mma_async instructions are serialized" "$work/out"' 'ptxas says so itself'
that 'grep -qF "a register tile is used between its product and its \`await\`" "$work/out"' 'what helps'

# More live registers than the role has: its setmaxnreg is dropped, or its products are serialised for want of them.
sed 's/compute: {warps: 4, registers: 240}/compute: {warps: 4, registers: 56}/' "$one" >"$work/few.yaml"
expect 1 "'setmaxnreg' ignored" $gen "$work/few.yaml"
that 'grep -qF "a role needs more registers than its \`registers\` say: give it more, or smaller tiles" "$work/out"' 'what helps'
sed 's/compute: {warps: 4, registers: 240}/compute: {warps: 4, registers: 72}/' "$one" >"$work/some.yaml"
expect 1 'serialized due to insufficient register resources' $gen "$work/some.yaml"
that 'grep -qF "a role holds more register tiles at a time than its \`registers\` allow" "$work/out"' 'what helps'
exit $failed
