#!/bin/sh
# What packages.sh shows of a build: how far ninja and make are, and whether it ended well.
#   progress.sh ROOT
set -eu
. "$1/tests/packages.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
printf -- '-- Configuring done\n[1/40] Building C object a\nwarning: [x]\n[22/40] Building C object b\nmore\n' >"$work/ninja"
[ "$(percent "$work/ninja")" = 55 ]
printf '[  3%%] Building C object a\n[ 45%%] Building C object b\n[ 67%%] Linking C executable c\n' >"$work/make"
[ "$(percent "$work/make")" = 67 ]
: >"$work/none"
[ "$(percent "$work/none")" = 0 ]
follow_one() {
  sh -c "sleep 0.2; exit $1" &
  follow $! "$work/make"
}
follow_one 0 >"$work/good"
grep -q '^ 10% 20% 30% 40% 50% 60% done$' "$work/good"
if follow_one 1 >"$work/bad"; then exit 1; fi
