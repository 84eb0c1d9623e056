#!/bin/sh
# The command line as a user meets it: help, exit codes, bad usage, files written whole or not at all.
# usage: cli.sh WARPSCORE DATA SPECS WORK
set -u
tool=$1 data=$2 specs=$3 work=$4
rm -rf "$work" && mkdir -p "$work" || exit 99
. "$(dirname "$0")/expect.sh"

spec=$specs/fa2_forward.yaml
copy=$data/copy.ptx

# ---- help and usage ----
expect 2 'usage: warpscore COMMAND' "$tool"
expect 0 'usage: warpscore COMMAND' "$tool" --help
expect 0 'warpscore 0.' "$tool" --version
expect 2 "unknown command 'chek': did you mean 'check'?" "$tool" chek
expect 2 "unknown command 'xyz'; see" "$tool" xyz
for command in check gen run bench probe; do
  expect 0 "usage: warpscore $command" "$tool" $command --help
  expect 2 "see \`warpscore $command --help\`" "$tool" $command
  expect 2 "see \`warpscore $command --help\`" "$tool" $command --no-such-option x
  expect 2 "warpscore: error: unknown option '--tagret': did you mean '--target'?; see \`warpscore $command --help\`" "$tool" $command --tagret=sm_80 x
  expect 2 "warpscore: error: unknown option '-x'; see" "$tool" $command -x "$spec"
  expect 2 "warpscore: error: option '--target' needs a value; see" "$tool" $command "$spec" --target
  expect 2 "warpscore: error: option '--strict' takes no value; see" "$tool" $command "$spec" --strict=3
  expect 2 "see \`warpscore $command --help\`" "$tool" $command one two
  expect 2 'expected NAME=VALUE' "$tool" $command -D dtype "$spec"
  expect 2 'expected NAME=VALUE' "$tool" $command -D =f16 "$spec"
  expect 2 'expected text or json' "$tool" $command --format xml "$spec"
  expect 2 'No such file or directory' "$tool" $command /nowhere/x.yaml
  expect 2 "$spec: error: -D head_dim=abc: the value of \`head_dim\` is a number or a parameter, found \`abc\`" "$tool" $command -D head_dim=abc "$spec"
  that 'grep -q "note: .head_dim. is declared here" "$work/out"' 'where the parameter is declared'
  expect 2 'error: -D head_dim=1: `1` is not one of the choices of parameter `head_dim`: 8, 16' "$tool" $command -D head_dim=1 "$spec"
  expect 2 'error: --target sm_91: the spec has sm_80' "$tool" $command --target sm_91 "$spec"
  expect 2 'holds no template file' "$tool" $command --templates /nowhere "$spec"
done

# ---- check ----
printf 'schedule: [\n' >"$work/bad.yaml"
expect 1 'error:' "$tool" check "$work/bad.yaml"
expect 1 'verdict: error' "$tool" check "$work/bad.yaml"
expect 1 '"diagnostics"' "$tool" check --format json "$work/bad.yaml"
expect 1 '"version": "2.1.0"' "$tool" check --format sarif "$work/bad.yaml"
expect 1 '"startLine": 1' "$tool" check --format sarif "$work/bad.yaml"
expect 0 '"results": []' "$tool" check --format sarif "$spec"
expect 2 'expected text or json' "$tool" gen --format sarif "$spec"
expect 1 'error:' "$tool" check /dev/null
expect 1 '<stdin>:' "$tool" check -
sed 's/^schedule: .*/schedule: other/' "$spec" >"$work/other.yaml" && { cat "$spec" && echo --- && cat "$work/other.yaml"; } >"$work/two.yaml"
expect 0 'other:' "$tool" check "$work/two.yaml"
for command in check gen; do
  expect 2 "two.yaml: no document has the name 'zz'" "$tool" $command "$work/two.yaml" --kernel zz
done
expect 0 'verdict: clean' "$tool" check "$work/two.yaml" --kernel other
that '[ "$(grep -c "^verdict: " "$work/out")" -eq 1 ]' 'check --kernel looks at one'
expect 0 '"name": "other"' "$tool" check "$work/two.yaml" --kernel other --format json
that '[ "$(grep -c "\"verdict\": " "$work/out")" -eq 1 ]' 'in JSON, too'

# ---- gen ----
expect 0 '' "$tool" gen "$spec" -o "$work/k.ptx"
that '[ "$(head -n 1 "$work/k.ptx")" = "// warpscore manifest 1" ]' 'gen -o writes a kernel'
"$tool" gen "$spec" >"$work/k2.ptx" 2>"$work/err"
that 'cmp -s "$work/k.ptx" "$work/k2.ptx"' 'standard output and file are the same'
that '[ ! -s "$work/err" ]' 'a good spec says nothing'
"$tool" gen - <"$spec" >"$work/k3.ptx"
that '[ "$(grep -c "^// param" "$work/k3.ptx")" = "$(grep -c "^// param" "$work/k.ptx")" ]' 'gen reads standard input'
expect 0 '' "$tool" gen -D causal=true -D head_dim=64 "$spec" -o "$work/causal.ptx"
that 'grep -qx "// set: causal true" "$work/causal.ptx"' '-D reaches the manifest'
expect 2 'error' "$tool" gen -D head_dim=12 "$spec" -o "$work/none.ptx"
expect 2 'error' "$tool" gen -D no_such=1 "$spec" -o "$work/none.ptx"
expect 2 '[' "$tool" gen --format json -D no_such=1 "$spec" -o "$work/none.ptx"
that '[ ! -e "$work/none.ptx" ]' 'a rejected spec writes nothing'
cp "$work/k.ptx" "$work/keep.ptx"
expect 1 'error' "$tool" gen "$work/bad.yaml" -o "$work/keep.ptx"
that 'cmp -s "$work/k.ptx" "$work/keep.ptx"' 'a rejected spec leaves the old file'
expect 2 'cannot be written' "$tool" gen "$spec" -o "$work/no/such/folder/k.ptx"
expect 2 'cannot be written' "$tool" gen "$spec" -o "$work"
expect 0 '' "$tool" gen "$spec" -o /dev/null
if [ -w /dev/full ]; then
  expect 2 'cannot be written' "$tool" gen "$spec" -o /dev/full
  for words in "gen $spec" "check $spec" --help --version 'emu --coverage'; do
    $tool $words >/dev/full 2>"$work/err"
    that '[ $? -eq 2 ]' "a full standard output is exit code 2: $words"
    that 'grep -q "the standard output cannot be written" "$work/err"' "and said: $words"
  done
fi
that '[ -z "$(find "$work" -name "*.ptx.*")" ]' 'no temporary file stays behind'
expect 0 'fa2_forward' "$tool" gen --dump schedule "$spec"
expect 2 'expected schedule' "$tool" gen --dump tea "$spec"
expect 2 'exclude each other' "$tool" gen --dump schedule --cubin "$work/k.cubin" "$spec"
expect 2 "no document has the name 'x'" "$tool" gen --kernel x "$spec"
expect 4 'no ptxas' env PTXAS=/nowhere/ptxas "$tool" gen --cubin "$work/none.cubin" "$spec"
that '[ ! -e "$work/none.cubin" ]' 'without ptxas there is no cubin'
printf '#!/bin/sh\necho "line 7: no" >&2\nexit 255\n' >"$work/ptxas"
chmod +x "$work/ptxas"
expect 1 'ptxas rejects the kernel (exit status 255)' env PTXAS="$work/ptxas" "$tool" gen --cubin "$work/none.cubin" "$spec"
expect 1 'line 7: no' env PTXAS="$work/ptxas" "$tool" gen --cubin "$work/none.cubin" "$spec"
that '[ ! -e "$work/none.cubin" ]' 'a rejected kernel leaves no cubin'
printf '#!/bin/sh\nwhile [ $# -gt 1 ]; do [ "$1" = -o ] && out=$2; shift; done\necho cubin >"$out"\n' >"$work/ptxas"
expect 0 '' env PTXAS="$work/ptxas" "$tool" gen --cubin "$work/k.cubin" "$spec"
that '[ "$(cat "$work/k.cubin")" = cubin ]' 'the cubin is what ptxas wrote'
mv "$work/ptxas" "$work/my-ptxas"
expect 0 '' env PTXAS=my-ptxas PATH="$work:$PATH" "$tool" gen --cubin "$work/k.cubin" "$spec"
expect 4 'no ptxas' env PTXAS=my-ptxas "$tool" gen --cubin "$work/k.cubin" "$spec"

# ---- run: usage and bad input ----
expect 2 "shape: '5' found, expected KEY=VALUE" "$tool" run "$copy" --shape 5
expect 2 "shape: unknown key 'x'" "$tool" run "$copy" --shape x=1
expect 2 "shape: the head dim is fixed" "$tool" run "$copy" --shape d=64
expect 2 "sq: '-1' found, expected a number from 0" "$tool" run "$copy" --shape sq=-1
expect 2 "sq: '1e3' found" "$tool" run "$copy" --shape sq=1e3
expect 2 "layout: 'shbd' found, expected bshd or bhsd" "$tool" run "$copy" --layout shbd
expect 2 "--pad: '-8' found" "$tool" run "$copy" --pad -8
expect 2 "--sms: '1a' found" "$tool" run "$copy" --sms 1a
expect 2 "--scale: 'big' found" "$tool" run "$copy" --scale big
for scale in 0 -1 -0.0 nan; do
  expect 2 "--scale: " "$tool" run "$copy" --scale $scale
done
expect 2 'cannot be opened' "$tool" run "$copy" --shapes /nowhere/shapes
expect 2 'no shape in it' "$tool" run "$copy" --shapes /dev/null
expect 2 'take one shape' "$tool" run "$copy" --shape sq=1 --shape sq=2 --o "$work/o.npy"
expect 2 'need a spec, not a generated kernel' "$tool" run -D causal=true "$copy"
printf '.version 7.0\n.target sm_80\n' >"$work/bare.ptx"
expect 1 "no manifest: the first line is '.version 7.0'" "$tool" run "$work/bare.ptx"
sed '/^\/\/ grid/d' "$copy" >"$work/damaged.ptx"
expect 1 "the manifest ends without a 'grid' line" "$tool" run "$work/damaged.ptx"
printf 'not numpy at all' >"$work/bad.npy"
expect 2 'it is no .npy file' "$tool" run "$copy" --q "$work/bad.npy"
expect 2 'cannot be opened' "$tool" run "$copy" --q /nowhere/q.npy
expect 2 "device 'tpu': expected cuda:N, emu or best" "$tool" run "$copy" --device tpu
expect 4 'no emulator' env WARPSCORE_EMU=/nowhere/emu.so "$tool" run "$copy" --device emu
expect 4 '' "$tool" run "$copy" --device cuda:77
expect 4 '' env WARPSCORE_EMU=/nowhere/emu.so "$tool" bench "$copy" --device cuda:77
expect 4 '' "$tool" bench "$copy" --device emu

[ $failed -eq 0 ] && echo "all of the command line is as expected"
exit $failed
