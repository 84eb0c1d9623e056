#!/bin/sh
# A CUDA program compiled by nvcc against the shared runtime runs on the stand-ins for runtime and driver, unmodified.
#   cudart.sh NVCC PROGRAM.cu FOLDER-OF-THE-STAND-INS WORK
set -eu
nvcc=$1 source=$2 libraries=$3 work=$4
if [ ! -x "$nvcc" ]; then
  echo "SKIPPED: no nvcc"
  exit 77
fi
mkdir -p "$work"
"$nvcc" -std=c++17 -gencode arch=compute_90,code=compute_90 -no-compress -cudart shared "$source" -o "$work/program" > "$work/nvcc.log" 2>&1 || {
  cat "$work/nvcc.log"
  case $(cat "$work/nvcc.log") in
    *"No such file"* | *"not found"* | *"unsupported"*) echo "SKIPPED: nvcc does not compile here"; exit 77 ;;
  esac
  exit 1
}
LD_LIBRARY_PATH=$libraries "$work/program" > "$work/out" || { cat "$work/out"; exit 1; }
cat "$work/out"
[ "$(cat "$work/out")" = "reversed 256 of them
right" ]
# the same in another order of completion
WSEMU_SCHEDULE=random:3 LD_LIBRARY_PATH=$libraries "$work/program" | grep -qx right
