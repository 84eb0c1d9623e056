#!/bin/sh
# A program linked with the stub, or with the emulator under the driver's name, finds the emulator in the folder of the stand-ins.
#   link.sh CC FOLDER-OF-THE-STAND-INS WORK
set -eu
cc=$1 libraries=$2 work=$3
mkdir -p "$work"
cat >"$work/program.c" <<'END'
#include <stdio.h>
unsigned cuInit(unsigned flags);
unsigned cuDeviceGetCount(int *count);
int main(void) {
  int n = 0;
  unsigned r = cuInit(0);
  if (!r) r = cuDeviceGetCount(&n);
  printf("%u %d\n", r, n);
  return 0;
}
END
"$cc" "$work/program.c" -o "$work/stub" -L "$libraries/stubs" -lcuda
"$cc" "$work/program.c" -o "$work/named" -L "$libraries" -l:libcuda.so.1
readelf -d "$work/stub" | grep -q 'NEEDED.*\[libcuda.so.1\]'
for program in stub named; do
  [ "$(LD_LIBRARY_PATH=$libraries "$work/$program")" = "0 1" ] || { echo "$program: found no device"; exit 1; }
done
