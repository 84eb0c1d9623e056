#!/bin/sh
# The measured columns of a page of schedules, such as specs/BLACKWELL.md: its rows that start with "| `SPEC OPTIONS` |" are measured again
# and have to be what the page says. A row:
#
#   | `SPEC OPTIONS` | threads | registers by role | ptxas, one column a target | shared memory | TMEM columns | barriers | verdict, statements | error |
#
# usage: story.sh [--update] WARPSCORE ROOT PAGE TARGET...
# ptxas: registers at launch, and spilled bytes where there are any. The error is O's against fp64 on the emulator, relative, with that
# of a plain evaluation in fp32 beside it. Without ptxas the rows are skipped: exit code 77.
set -u
update=
[ "$1" = --update ] && update=1 && shift
tool=$1 page=$3
cd "$2" || exit 1
shift 3
if [ -n "${PTXAS:-}" ]; then ptxas=$(command -v "$PTXAS"); else ptxas=$(PATH=$PATH:/usr/local/cuda/bin && command -v ptxas); fi
if [ -z "$ptxas" ]; then
  echo "no ptxas: nothing is measured"
  exit 77
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# roles of equal numbers together: "softmax 192, correction 72, load mma store 56"
roles() {
  sed -n 's/^registers \([a-z0-9_]*\)[^:]*: at most \([0-9]*\) a thread.*/\1 \2/p' "$1" |
    awk '!seen[$0]++ { if (names[$2] == "") order[++n] = $2; names[$2] = names[$2] " " $1 }
         END { for (i = 1; i <= n; i++) printf "%s%s %s", (i > 1 ? ", " : ""), substr(names[order[i]], 2), order[i] }'
}
field() { sed -n "s/$1/\1/p" "$work/check" | head -n 1; }

# row SPEC OPTIONS -> $work/row
row() {
  spec=specs/$1.yaml words="$*" cells=
  shift
  "$tool" check "$spec" "$@" >"$work/check" 2>&1 || return 1
  for target in $targets; do
    cell=-
    if "$tool" gen --no-play --target "$target" "$spec" "$@" -o "$work/k.ptx" 2>"$work/log"; then
      "$ptxas" -v -arch="$target" "$work/k.ptx" -o "$work/k.cubin" >"$work/log" 2>&1 || return 1
      cell=$(sed -n 's/.*Used \([0-9]*\) registers.*/\1/p' "$work/log")
      spilled=$(sed -n 's/.* \([0-9]*\) bytes spill stores.*/\1/p' "$work/log" | head -n 1)
      [ "$spilled" = 0 ] || cell="$cell, $spilled bytes spilled"
    fi
    cells="$cells | $cell"
  done
  threads=$("$tool" gen --no-play "$spec" "$@" | sed -n 's/^\/\/ block: //p')
  "$tool" run --no-play --device emu --shape b=1,hq=2,sq=512,sk=512 "$spec" "$@" >"$work/log" 2>&1 || return 1
  error=$(awk '$1 == "O" { printf "%s, plain %s", $3, $4 }' "$work/log")
  printf '| `%s` | %s | %s%s | %s | %s | %s | %s, %s | %s |\n' "$words" "$threads" "$(roles "$work/check")" "$cells" \
    "$(field '^shared memory: \([0-9]*\) .*')" "$(field '^TMEM columns: \([0-9]*\).*')" \
    "$(field '^barriers: \([0-9]*\) of.*') + $(field '^barriers:.* \([0-9]*\) mbarriers.*')" \
    "$(field '^verdict: \([a-z]*\).*')$(sed -n 's/^assumes \([A-Z0-9]*\):.*/ under \1/p' "$work/check" | tr -d '\n')" "$(field '^protocol:.*, \([0-9]*\) statements.*')" "$error" >"$work/row"
}

targets=$*
failed=0 rows=0
: >"$work/page"
while IFS= read -r line; do
  case $line in
  '| `'*)
    # shellcheck disable=SC2046 # words are split on purpose
    if row $(printf '%s\n' "$line" | sed 's/^| `\([^`]*\)`.*/\1/'); then
      rows=$((rows + 1))
      measured=$(cat "$work/row")
      [ "$measured" = "$line" ] || [ -n "$update" ] || {
        printf 'FAIL the page says\n  %s\nmeasured is\n  %s\n' "$line" "$measured"
        failed=$((failed + 1))
      }
      line=$measured
    else
      printf 'FAIL %s\n' "$line"
      head -n 5 "$work/check" "$work/log"
      failed=$((failed + 1))
    fi
    ;;
  esac
  printf '%s\n' "$line" >>"$work/page"
done <"$page"
[ -z "$update" ] || [ $failed != 0 ] || cp "$work/page" "$page"
echo "$rows rows"
[ "$failed" = 0 ] && [ "$rows" -gt 0 ]
