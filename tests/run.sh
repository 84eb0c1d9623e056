#!/bin/sh
# Builds everything twice, with the sanitizers and with warnings as errors, and passes all tests that are not slow.
# Installs what is missing. GPU tests and tests that assemble are skipped, visibly, where there is no GPU or no ptxas.
set -eu
cd "$(dirname "$0")/.."
. tests/packages.sh

find_ptxas() {
  if [ -n "${PTXAS:-}" ]; then
    command -v "$PTXAS"
  else
    PATH=$PATH:/usr/local/cuda/bin command -v ptxas
  fi
}

install_packages tests
failed=0

say "Building with sanitizers in build-sanitize/"
# -O1: half the time to build, and frames that a report can name. Instrumented code has warnings of its own, so no -Werror.
build_in build-sanitize -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG="-O1 -g1" -DBUILD_TESTING=ON -DWS_SANITIZE=ON
say "Building in build-test/"
build_in build-test -DCMAKE_BUILD_TYPE=Release -DBUILD_TESTING=ON -DWS_WERROR=ON

say "Tests under AddressSanitizer and UndefinedBehaviorSanitizer"
ctest --test-dir build-sanitize -j "$jobs" -LE 'slow|gpu' --output-on-failure || failed=1

if ptxas=$(find_ptxas); then
  say "Tests; kernels are assembled by $ptxas"
else
  say "Tests; there is no ptxas (\$PTXAS, \$PATH, /usr/local/cuda/bin), so nothing is assembled"
fi
ctest --test-dir build-test -j "$jobs" -LE slow --output-on-failure || failed=1
exit $failed
