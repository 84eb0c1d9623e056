# Sourced by tests/run.sh and examples/quickstart.sh: what a build needs, found by trying it. Packages are installed only
# for what is missing, with apt-get, as root or through sudo. Sets $jobs and $generator.

say() { printf '\n== %s\n' "$*"; }

die() {
  printf '%s: %s\n' "$0" "$*" >&2
  exit 1
}

# Does a program with these headers, linked like this, build?
builds() {
  headers=$1
  shift
  {
    for header in $headers; do printf '#include <%s>\n' "$header"; done
    printf 'int main(void) { return 0; }\n'
  } >"$scratch/try.c"
  cc "$scratch/try.c" -o "$scratch/try" "$@" 2>/dev/null
}

# want PACKAGES CONDITION...: the packages go on the list unless the condition holds.
want() {
  packages=$1
  shift
  "$@" >/dev/null 2>&1 || missing="$missing $packages"
}

can_make() { command -v ninja || command -v make; }

find_missing() {
  missing=
  want "gcc libc6-dev" builds stdio.h -lm
  want cmake command -v cmake
  want make can_make
  want libyaml-dev builds yaml.h -lyaml
  want libjansson-dev builds jansson.h -ljansson
  if [ "$1" = tests ]; then
    want libcmocka-dev builds "stdarg.h stddef.h stdint.h setjmp.h cmocka.h" -lcmocka
    want spin command -v spin
  fi
  missing=${missing# }
}

# install_packages build|tests
install_packages() {
  scratch=$(mktemp -d) || die "no temporary folder"
  find_missing "$1"
  if [ -n "$missing" ]; then
    command -v apt-get >/dev/null || die "missing: $missing (package names of Debian; there is no apt-get here to install them)"
    root=
    if [ "$(id -u)" != 0 ]; then
      command -v sudo >/dev/null || die "missing: $missing; run this as root, or install them"
      root=sudo
    fi
    say "Installing $missing"
    # shellcheck disable=SC2086 # words are split on purpose
    { $root apt-get update &&
      $root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing; } >"$scratch/log" 2>&1 || {
      tail -n 30 "$scratch/log" >&2
      rm -rf "$scratch"
      die "apt-get failed"
    }
    find_missing "$1"
    [ -z "$missing" ] || die "still missing after the installation: $missing"
  fi
  rm -rf "$scratch"
  jobs=$(nproc 2>/dev/null || echo 2)
  generator="Unix Makefiles"
  if command -v ninja >/dev/null; then generator=Ninja; fi
}

# percent LOG: how far ninja ("[12/345] ..") or make ("[ 12%] ..") says it is.
percent() {
  sed -n -e 's/^\[\([0-9]*\)\/\([0-9]*\)\].*/\1 \2/p' -e 's/^\[ *\([0-9]*\)%\].*/\1 100/p' "$1" | awk '{ n = $1; m = $2 } END { print m ? int(100 * n / m) : 0 }'
}

# follow PID LOG: one line that grows with each tenth of a build, until the process ends.
follow() {
  shown=0
  # shellcheck disable=SC2064 # the process that runs now
  trap "kill $1 2>/dev/null; exit 130" INT TERM # a process in the background does not hear of it by itself
  while kill -0 "$1" 2>/dev/null; do
    now=$(percent "$2")
    while [ $((shown + 10)) -le "$now" ] && [ "$shown" -lt 90 ]; do
      shown=$((shown + 10))
      printf ' %s%%' "$shown"
    done
    sleep 1
  done
  trap - INT TERM
  if wait "$1"; then printf ' done\n'; else printf '\n' && return 1; fi
}

# build_in FOLDER OPTIONS...: configures once with the generator at hand, then builds.
build_in() {
  folder=$1
  shift
  if [ ! -f "$folder/CMakeCache.txt" ]; then set -- -G "$generator" "$@"; fi
  { cmake -S . -B "$folder" "$@" && exec cmake --build "$folder" -j "$jobs"; } >"$folder.log" 2>&1 &
  follow $! "$folder.log" || {
    tail -n 40 "$folder.log" >&2
    die "the build in $folder failed; its log is $folder.log"
  }
  rm -f "$folder.log"
}
