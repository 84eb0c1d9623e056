#!/bin/sh
# From an unpacked checkout to a running kernel: installs what is missing, builds, generates fa2_forward, runs it on the
# best device there is. A Debian 12 machine is enough; without a GPU the kernel runs on the CPU emulator.
set -eu
cd "$(dirname "$0")/.."
. tests/packages.sh

install_packages build
say "Building in build/"
build_in build -DCMAKE_BUILD_TYPE=Release -DBUILD_TESTING=OFF

say "Generating specs/fa2_forward.yaml -> build/fa2_forward.ptx"
build/warpscore gen specs/fa2_forward.yaml -o build/fa2_forward.ptx
wc -l specs/fa2_forward.yaml build/fa2_forward.ptx | sed '$d'

say "Running build/fa2_forward.ptx against the fp64 reference"
build/warpscore run build/fa2_forward.ptx --shape b=1,hq=4,hkv=2,sq=200,sk=200

cat <<'END'

== That was a kernel written from a schedule. Now try:
  build/warpscore run specs/fa2_forward.yaml -D causal=true -D head_dim=64    another kernel from the same spec
  less build/fa2_forward.ptx                                                  the kernel, statement by statement
  build/warpscore check specs/fa2_forward.yaml                                what it needs of an SM
  build/warpscore --help                                                      all commands
  specs/README.md                                                             the language
END
