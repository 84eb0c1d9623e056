#!/bin/sh
# Runs every case of a folder and holds what the tool says against the file beside it, byte for byte.
#
#   golden.sh [--update] WARPSCORE KIND FOLDER [SPECS]
#
# KIND bad:   NAME.yaml; its standard error must be NAME.err and its exit code 1, or what a line `# exit: CODE` says. A line
#             `# run: COMMAND OPTIONS` in the first lines of the file says how the tool is called; `check` without one.
#             Templates of a case are in NAME/.
# KIND good:  NAME.run, lines of `COMMAND OPTIONS SPEC`, run in the folder SPECS; standard output must be NAME.out.
# --update writes the expected files instead (it never adds one where the exit code is wrong).
set -u
update=
if [ "$1" = --update ]; then
  update=yes
  shift
fi
tool=$1 kind=$2 folder=$3
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
passed=0 failed=0

# verdict NAME EXPECTED-FILE WANTED-CODE CODE
verdict() {
  if [ "$4" != "$3" ]; then
    printf 'FAIL %s: exit code %s, expected %s\n' "$1" "$4" "$3"
    head -n 5 "$scratch/err" 2>/dev/null
  elif [ -n "$update" ]; then
    cmp -s "$scratch/out" "$2" || { cp "$scratch/out" "$2" && printf 'updated %s\n' "$2"; }
  elif diff -u "$2" "$scratch/out" >"$scratch/diff" 2>&1; then
    passed=$((passed + 1))
    return
  else
    printf 'FAIL %s\n' "$1"
    head -n 40 "$scratch/diff"
  fi
  failed=$((failed + 1))
}

bad() {
  cd "$folder" || exit 1
  for file in *.yaml; do
    run=$(sed -n -e 's/^# run: //p' -e '5q' "$file") want=$(sed -n -e 's/^# exit: //p' -e '5q' "$file")
    # shellcheck disable=SC2086 # words are split on purpose
    "$tool" ${run:-check} "$file" >/dev/null 2>"$scratch/out"
    code=$?
    cp "$scratch/out" "$scratch/err"
    grep -q 'error: ' "$scratch/out" || code="$code, without an error"
    verdict "$file (${run:-check})" "${file%.yaml}.err" "${want:-1}" "$code"
  done
}

good() {
  cd "$1" || exit 1
  for file in "$folder"/*.run; do
    code=0
    : >"$scratch/out"
    while read -r run; do
      # shellcheck disable=SC2086 # words are split on purpose
      "$tool" $run >>"$scratch/out" 2>"$scratch/err" || code=$?
    done <"$file"
    verdict "${file##*/}" "${file%.run}.out" 0 $code
  done
}

case $kind in
bad) bad ;;
good) good "$4" ;;
*) exit 2 ;;
esac
[ -z "$update" ] || exit 0
printf '%s passed, %s failed\n' "$passed" "$failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
