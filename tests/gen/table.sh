#!/bin/sh
# The kernel table of the README is true as far as this machine can tell: every spec has its rows and every row its spec,
# the spec has the row's target, and a row that says so is generated and emulated, and assembled by gen.assemble: its list
# has the spec with its defaults for the row's target.
#
#   table.sh WARPSCORE ROOT
set -u
tool=$1
. "$(dirname "$0")/../expand.sh"
cd "$2" || exit 1
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
failed=0 rows=0
expand_list tests/gen/data/assemble.list >"$scratch/assembled"
fail() {
  printf 'FAIL %s\n' "$*"
  failed=$((failed + 1))
}

# | [NAME](SPEC) | TARGET, ... | generated | assembled | emulated | hardware |
sed -n 's/^| *\[\([a-z0-9_]*\)\](\(specs\/[a-z0-9_]*\.yaml\)) *| *\([a-z0-9_, ]*[a-z0-9]\) *| *\([^|]*[^| ]\) *| *\([^|]*[^| ]\) *| *\([^|]*[^| ]\) *| *\([^|]*[^| ]\) *|$/\1|\2|\3|\4|\5|\6|\7/p' \
  README.md | awk -F'|' -v OFS='|' '{n = split($3, target, ", *"); for (i = 1; i <= n; i++) {$3 = target[i]; print}}' >"$scratch/rows"
while IFS='|' read -r name spec target generated assembled emulated hardware; do
  rows=$((rows + 1))
  for word in "$generated" "$assembled" "$emulated"; do
    case $word in yes | no) ;; *) fail "$name: \`$word\` is neither yes nor no" ;; esac
  done
  [ -n "$hardware" ] || fail "$name: nothing about hardware"
  if ! "$tool" gen --no-play --target "$target" "$spec" -o "$scratch/k.ptx" 2>"$scratch/log"; then
    [ "$generated" = no ] || fail "$name is not generated for $target: $(head -n 1 "$scratch/log")"
    continue
  fi
  [ "$generated" = yes ] || fail "$name is generated for $target, the table says no"
  grep -q "^// schedule: $name$" "$scratch/k.ptx" || fail "$spec is not the schedule $name"
  if [ "$assembled" = yes ]; then # with --target, or as the first target of the spec
    first=$(sed -n 's/^target: *\[*\(sm_[0-9]*a*\).*/\1/p' "$spec")
    grep -qE "^[a-z0-9]+ --target $target $spec\$" "$scratch/assembled" || { [ "$target" = "$first" ] && grep -qE "^[a-z0-9]+ $spec\$" "$scratch/assembled"; } ||
      fail "$name is not in tests/gen/data/assemble.list for $target"
  fi
  if [ "$emulated" = yes ]; then
    "$tool" run --device emu "$scratch/k.ptx" --shape b=1,hkv=1,sq=70,sk=70 >"$scratch/log" 2>&1 || fail "$name is not emulated: $(tail -n 2 "$scratch/log")"
  fi
done <"$scratch/rows"
for spec in specs/*.yaml; do
  grep -q "|$spec|" "$scratch/rows" || fail "$spec is not in the table"
done
[ "$rows" -gt 0 ] || fail "the README has no table of kernels"

# The excerpts: each line of a block of the language stands in the spec, each line of PTX in the kernel (line numbers aside).
block() { sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/p" README.md | sed -e '/^```/d' -e 's/^ *//' -e 's/^\/\/ [0-9]*:/\/\/:/' -e '/^$/d'; }
"$tool" gen -D head_dim=64 specs/fa2_forward.yaml | sed -e 's/^ *//' -e 's/^\/\/ [0-9]*:/\/\/:/' >"$scratch/ptx"
sed -e 's/ *#.*//' -e 's/^ *//' specs/fa2_forward.yaml >"$scratch/yaml"
for language in yaml ptx; do
  block "$language" >"$scratch/block"
  [ -s "$scratch/block" ] || fail "the README has no $language"
  while read -r line; do
    grep -qxF -e "$line" "$scratch/$language" || fail "not in the $language: $line"
  done <"$scratch/block"
done

# The first shell block holds the two commands.
sed -n '/^```sh$/,/^```$/p' README.md | sed -n '1,4p' | tr '\n' '|' | grep -qxF '```sh|sh examples/quickstart.sh|sh tests/run.sh|```|' || fail "the first shell block is another one"
echo "$rows rows"
[ "$failed" = 0 ]
