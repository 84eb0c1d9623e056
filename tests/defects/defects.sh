#!/bin/sh
# The known defects of synchronisation, each planted into a base that is right: found by the checker, by the emulator, or not.
#
#   defects.sh [--update] TOOL PLANT JUDGE FOLDER CASE SPECS...   one case: the base is clean and passes, the planted one is what it says
#   defects.sh [--update] scoreboard FOLDER                 FOLDER/SCOREBOARD.md is what the cases say
#
# FOLDER/NN_NAME.case belongs to defect NN of the scoreboard's list, titles.txt. Its head is comments (#) and lines KEY: VALUE
#   spec: NAME          the base, a schedule of the folders SPECS; its planted twin is generated without the check for the emulator
#   kernel: NAME        or the base is kernels/NAME.ptx, run as `launch: OPTIONS` says; it traps when its result is wrong
#   define: OPTIONS     for generation, `-D ...`;     shape: what is run (several, separated by blanks)
#   static: VERDICT     found: the checker rejects it with FOLDER/NN_NAME.static;   not WHY: it calls it clean, a hole;   - WHY: not asked for
#   emu: VERDICT        found: FOLDER/NN_NAME.emu holds what each order of completion says;   not WHY: all pass, a hole;   - WHY
# and then sections of edits, see plant.c. A case without a base says only why a defect is not there.
set -u
LC_ALL=C
export LC_ALL
update=
if [ "$1" = --update ]; then
  update=yes
  shift
fi

# value KEY: the first line of that key in $file
value() { sed -n -e "s/^$1: *//p" "$file" | head -n 1; }

fail() {
  printf 'FAIL %s: %s\n' "$name" "$*"
  failed=1
}

# hold KIND FILE: what was found is what the file beside the case says
hold() {
  if [ -n "$update" ]; then
    cmp -s "$folder/$name.$1" "$2" || cp "$2" "$folder/$name.$1"
  else
    diff -u "$folder/$name.$1" "$2" || fail "another finding than $name.$1"
  fi
}

# said LOG: the fault, without what depends on the order of other cases or on the text of the generator: line numbers
said() {
  sed -n -e '/error: /,$p' "$1" | sed -e '/: the shape was /d' -e "s/^.*kernel '[a-z0-9_]*'[,:] //" -e 's/line [0-9][0-9]*/line N/g' -e 's/ (CUDA_ERROR_[A-Z_]*, [0-9]*)$//' -e '/^ *$/d' | head -n 3
}

orders='early late random:1 random:2 random:3 random:4 random:5 random:6'

# pass PTX SHAPES: right, with the same bits in all orders of completion
pass() {
  if [ -n "$kernel" ]; then
    for order in $orders; do
      # shellcheck disable=SC2086 # words are split on purpose
      "$tool" emu "$1" $launch --threads 1 --schedule "$order" || return 1
    done
  else
    for shape in $2; do
      "$tool" run "$1" --device emu --timeout 60 --shape "$shape" --schedule "$(printf '%s' "$orders" | tr ' ' ,)" || return 1
    done
  fi
}

# emulate PTX SHAPES: a line for each order of completion: what the emulator says of it
emulate() {
  for order in $orders; do
    code=0
    if [ -n "$kernel" ]; then
      # shellcheck disable=SC2086 # words are split on purpose
      "$tool" emu "$1" $launch --threads 1 --schedule $order >"$scratch/log" 2>&1 || code=$?
    else
      for shape in $2; do
        "$tool" run "$1" --device emu --timeout 60 --shape "$shape" --schedule $order >"$scratch/log" 2>&1 || { code=$? && break; }
      done
    fi
    if [ $code = 0 ]; then
      printf '%s: right\n' "$order"
    elif grep -q '^FAIL' "$scratch/log" && ! grep -q 'error: ' "$scratch/log"; then
      printf '%s: wrong result\n' "$order"
    else
      printf '%s: ' "$order"
      said "$scratch/log"
    fi
  done
}

base_of() {
  for dir in "$@"; do
    [ -f "$dir/$spec.yaml" ] && printf '%s\n' "$dir/$spec.yaml" && return
  done
}

one() {
  file=$folder/$name.case failed=0
  spec=$(value spec) kernel=$(value kernel) launch=$(value launch) define=$(value define) shapes=$(value shape)
  static=$(value static) emu=$(value emu)
  [ -n "$spec$kernel" ] || return 0
  cd "$scratch" || exit 1
  if [ -n "$spec" ]; then
    cp "$(base_of "$@")" right.yaml || return 1
    "$plant" "$file" spec <right.yaml >"$spec.yaml" || return 1
  fi
  case $static in
  -*) ;;
  *) check_static ;;
  esac
  case $emu in
  -*) ;;
  *) check_emu ;;
  esac
  return $failed
}

# The checker on the base and on the planted twin.
check_static() {
  # shellcheck disable=SC2086 # words are split on purpose
  "$judge" $define right.yaml >log 2>&1 || { head -n 5 log && fail 'the base is not clean'; }
  # shellcheck disable=SC2086
  "$judge" $define "$spec.yaml" >log 2>said
  code=$?
  case $static in
  found) [ $code = 1 ] && hold static said || fail "check: exit code $code" ;;
  not*) [ $code = 0 ] || { head -n 3 said && fail "check finds it now: the verdict is stale"; } ;;
  *) fail "static: $static" ;;
  esac
}

# The emulator on the base and on the planted twin, under each order of completion.
check_emu() {
  if [ -n "$kernel" ]; then
    cp "$folder/kernels/$kernel.ptx" right.ptx
  else
    # shellcheck disable=SC2086 # words are split on purpose
    "$tool" gen --no-play $define right.yaml -o right.ptx >log 2>&1 || { cat log && fail 'the base is not generated'; }
    # shellcheck disable=SC2086
    "$tool" gen --no-play $define "$spec.yaml" -o planted.ptx >log 2>&1 || { head -n 5 log && fail 'the planted one is not generated'; }
  fi
  [ -z "$kernel" ] || cp right.ptx planted.ptx
  "$plant" "$file" ptx <planted.ptx >"$name.ptx" || fail 'the edits do not apply'
  pass right.ptx "$shapes" >said 2>&1 || { head -n 5 said && fail 'the base does not pass'; }
  emulate "$name.ptx" "$shapes" >said
  case $emu in
  found) grep -vq ': right$' said && hold emu said || fail 'the emulator does not find it' ;;
  not*) grep -v ': right$' said && fail 'the emulator finds it now: the verdict is stale' ;;
  *) fail "emu: $emu" ;;
  esac
}

# verdict KIND NUMBER: what the cases of a defect say together
verdict() {
  found='' holes='' why=''
  for file in "$folder/$2"_*.case; do
    [ -f "$file" ] || continue
    case $(value "$1") in
    found) found="$found $(basename "$file" .case)" ;;
    not*) holes="$holes $(basename "$file" .case)" ;;
    esac
  done
  case "$found/$holes" in
  /) printf -- '-' ;;
  /*) printf 'not' ;;
  */) printf 'yes' ;;
  *) printf 'in part' ;;
  esac
}

# reasons NUMBER ASKED: why something is not found, by case; and why a kind that is asked for has no case at all
reasons() {
  for file in "$folder/$1"_*.case; do
    [ -f "$file" ] || continue
    for kind in static emu; do
      text=$(value $kind | sed -n -e 's/^not *//p')
      [ -z "$text" ] || printf '%s, %s: %s. ' "$(basename "$file" .case | sed -e 's/^[0-9]*_//' -e 's/_/ /g')" $kind "$text"
    done
  done >"$scratch/why"
  for kind in static emu; do
    case $2/$kind in S*/static | *E/emu) ;; *) continue ;; esac
    [ "$(verdict $kind "$1")" = - ] || continue
    for file in "$folder/$1"_*.case; do
      [ -f "$file" ] && printf 'no case, %s: %s. ' "$kind" "$(value $kind | sed -e 's/^- *//')" && break
    done
  done >>"$scratch/why"
  sed -e 's/\. $//' -e 's/|/\\|/g' "$scratch/why"
}

table() {
  printf '%s\n' '# Known defects, and what finds them' '' \
    'Written by `tests/defects/defects.sh`; the tests `defects.*` hold it against what happens. S: the checker has to find it' \
    'in a schedule, E: the emulator in a kernel. `in part`: of several cases some are found. A case is a base that is right and' \
    'one edit; the base passes. An emulator finds a defect by a fault or by a wrong result under one of eight completion orders.' '' \
    '| no | defect | asked | checker | emulator | cases | what is not found, and why |' '|---|---|---|---|---|---|---|'
  while IFS='|' read -r number asked title; do
    cases=$(for file in "$folder/$number"_*.case; do [ -f "$file" ] && basename "$file" .case | sed 's/^[0-9]*_//' | tr _ ' '; done | paste -s -d, | sed 's/,/, /g')
    why=$(reasons "$number" "$asked")
    [ -n "$cases" ] || why='no case yet'
    printf '| %s | %s | %s | %s | %s | %s | %s |\n' "$number" "$title" "$asked" "$(verdict static "$number")" "$(verdict emu "$number")" "$cases" "$why"
  done <"$folder/titles.txt"
}

# count COLUMN MARK: of the defects that ask for MARK, how many are found, in part, not, without a case
count() {
  awk -F' *[|] *' -v col="$1" -v mark="$2" '$2 ~ /^[0-9]+$/ && index($4, mark) { n++; k[$col]++ }
    END { printf "%d of %d, in part %d, not %d, without a case %d", k["yes"], n, k["in part"], k["not"], k["-"] }' "$3"
}

scoreboard() {
  table >"$scratch/table"
  {
    cat "$scratch/table"
    printf '\nChecker: found %s. Emulator: found %s.\n' "$(count 5 S "$scratch/table")" "$(count 6 E "$scratch/table")"
  } >"$scratch/board"
  if [ -n "$update" ]; then cp "$scratch/board" "$folder/SCOREBOARD.md"; else diff -u "$folder/SCOREBOARD.md" "$scratch/board"; fi
}

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
if [ "$1" = scoreboard ]; then
  folder=$2
  scoreboard
  exit
fi
tool=$1 plant=$2 judge=$3 folder=$4 name=$5
shift 5
one "$@"
