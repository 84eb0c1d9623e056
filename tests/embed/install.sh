#!/bin/sh
# install.sh SOURCE BUILD WORK CASE: one case of tests/embed. The installation of case `install` lies in WORK/prefix, a kernel in
# WORK/kernel.ptx. Exit code 77: a tool is missing.
set -eu
source=$1 build=$2 work=$3 case=$4
prefix=$work/prefix
here=$source/tests/embed
warnings="-Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Wpedantic -Werror"

die() {
  printf 'embed.%s: %s\n' "$case" "$*" >&2
  exit 1
}

need() {
  for tool; do
    command -v "$tool" >/dev/null || { echo "no $tool: skipped"; exit 77; }
  done
}

# project FOLDER OPTIONS...: configures and builds a program of its own against the installation.
project() {
  folder=$1
  shift
  rm -rf "$folder/build"
  cmake -S "$folder" -B "$folder/build" "-DKERNEL=$work/kernel.ptx" "-DCMAKE_BUILD_TYPE=Debug" "$@" >"$folder.log" 2>&1 &&
    cmake --build "$folder/build" >>"$folder.log" 2>&1 || { cat "$folder.log" >&2; die "$folder does not build"; }
}

# excerpt LANGUAGE: the block of runtime/README.md in that language.
excerpt() {
  awk -v fence="\`\`\`$1" '$0 == "```" { inside = 0 } inside { print } $0 == fence { inside = 1 }' "$source/runtime/README.md"
}

example() { # example NAME OPTIONS...
  name=$1
  shift
  rm -rf "${work:?}/$name" && mkdir -p "$work/$name"
  cp "$source/examples/embed/CMakeLists.txt" "$source/examples/embed/embed.c" "$work/$name"
  project "$work/$name" "$@" "-DCMAKE_C_FLAGS=$warnings"
}

case $case in
install)
  rm -rf "${work:?}"
  mkdir -p "$work"
  cmake --install "$build" --prefix "$prefix" --component embed >"$work/install.log"
  "$build/warpscore" gen "$source/specs/fa2_forward.yaml" -D head_dim=64 -o "$work/kernel.ptx"
  for file in include/warpscore.h include/warpscore_dlpack.h; do
    cmp "$source/runtime/$file" "$prefix/$file"
  done
  ;;

tool) # finds the emulator of its installation, also when that is moved
  rm -rf "${work:?}/tool" "${work:?}/tool-moved"
  for component in tool embed; do cmake --install "$build" --prefix "$work/tool" --component $component >"$work/tool.log"; done
  mv "$work/tool" "$work/tool-moved"
  env -u WARPSCORE_EMU -u LD_LIBRARY_PATH "$work/tool-moved/bin/warpscore" run "$work/kernel.ptx" --device emu --shape sq=20 | grep '^PASS$'
  ;;

library) # small, depends on libc alone, exports what the header declares and nothing else, each under the version
  need readelf nm
  library=$prefix/$(cd "$prefix" && ls -d lib*/libwarpscore.so lib*/*/libwarpscore.so 2>/dev/null | head -n 1)
  [ "$(wc -c <"$(readlink -f "$library")")" -lt 200000 ] || die "$library has 200,000 bytes or more"
  readelf -d "$library" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' >"$work/needed"
  if grep -v -E '^(lib(c|m|dl|pthread)\.so\.[0-9]+|ld-linux.*)$' "$work/needed"; then die "needs the libraries above"; fi
  readelf -d "$library" | grep -q 'SONAME.*\[libwarpscore.so.0\]' || die "no soname"
  sed -n 's/^WS_API [^(]*[ *]\(ws_[a-z0-9_]*\)(.*/\1@@WARPSCORE_0/p' "$prefix/include/warpscore.h" | sort >"$work/declared"
  nm -D --defined-only "$library" | awk '$2 == "T" { print $3 }' | sort >"$work/exported"
  [ "$(wc -l <"$work/declared")" -gt 40 ] || die "the header's declarations are not understood"
  diff "$work/declared" "$work/exported" || die "the header's declarations (<) are not what the library exports (>)"
  ;;

shared | static)
  if [ "$case" = static ]; then set -- -DSTATIC=ON; else set --; fi
  example "$case" "-DCMAKE_PREFIX_PATH=$prefix" "$@"
  "$work/$case/build/embed" emu | tee "$work/$case.out"
  grep -q ': right$' "$work/$case.out" || die "no right result"
  if "$work/$case/build/embed" nonsense 2>"$work/$case.err"; then die "a device that is none was taken"; fi
  grep -q "WS_ERR_ARGUMENT: device 'nonsense': expected cuda:N, emu or best" "$work/$case.err" || die "$(cat "$work/$case.err")"
  ;;

moved) # the installed tree at another place, found by pkg-config
  need pkg-config cc
  rm -rf "${work:?}/elsewhere" "${work:?}/moved"
  cp -R "$prefix" "$work/elsewhere"
  mkdir "$work/moved"
  PKG_CONFIG_PATH=$(dirname "$(find "$work/elsewhere" -name warpscore.pc)")
  export PKG_CONFIG_PATH
  [ "$(pkg-config --modversion warpscore)" = "$(sed -n 's/^project(warpscore VERSION \([0-9.]*\).*/\1/p' "$source/CMakeLists.txt")" ] || die "version"
  cmake -DNAME=kernel_ptx "-DINPUT=$work/kernel.ptx" "-DSOURCE=$work/moved/kernel_ptx.c" "-DHEADER=$work/moved/kernel_ptx.h" \
    -P "$(find "$work/elsewhere" -name warpscore-array.cmake)"
  libdir=$(pkg-config --variable=libdir warpscore)
  # shellcheck disable=SC2046 # flags are split on purpose
  cc -std=c11 -I"$work/moved" "$source/examples/embed/embed.c" "$work/moved/kernel_ptx.c" -o "$work/moved/embed" \
    $(pkg-config --cflags --libs warpscore) -lm -Wl,-rpath,"$libdir"
  "$work/moved/embed" emu | grep ': right$'
  # shellcheck disable=SC2046
  cc -std=c11 -I"$work/moved" "$source/examples/embed/embed.c" "$work/moved/kernel_ptx.c" -o "$work/moved/embed_static" \
    $(pkg-config --cflags warpscore) "$libdir/libwarpscore.a" $(pkg-config --static --libs-only-l warpscore | sed 's/-lwarpscore//')
  WARPSCORE_EMU=$libdir/libwarpscore-emu.so "$work/moved/embed_static" emu | grep ': right$'
  ;;

header) # alone, in both languages and with every compiler that is there
  tried=0
  for compiler in "gcc -std=c11" "clang -std=c11" "g++ -std=c++17 -xc++" "clang++ -std=c++17 -xc++"; do
    command -v "${compiler%% *}" >/dev/null || continue
    for header in warpscore.h warpscore_dlpack.h; do
      printf '#include <%s>\nint main(void) { return ws_status_name(WS_OK) == 0; }\n' "$header" >"$work/header.c"
      # shellcheck disable=SC2086
      $compiler $warnings -Wno-unused-function -I"$prefix/include" -c "$work/header.c" -o "$work/header.o" || die "$compiler $header"
    done
    tried=$((tried + 1))
  done
  [ $tried -gt 0 ] || exit 77
  # The program in the header's first comment is one.
  need cc pkg-config
  { printf '#include <stdio.h>\n#include <warpscore.h>\n' && sed -n '/^ \*   int main/,/^ \*   }$/s/^ \*   //p' "$prefix/include/warpscore.h"; } >"$work/first.c"
  PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name warpscore.pc)")
  export PKG_CONFIG_PATH
  # shellcheck disable=SC2046,SC2086
  cc -std=c11 $warnings "$work/first.c" -o "$work/first" $(pkg-config --cflags --libs warpscore) \
    -Wl,-rpath,"$(pkg-config --variable=libdir warpscore)"
  cp "$work/kernel.ptx" "$work/k.ptx"
  (cd "$work" && ./first) || die "the header's program fails"
  rm "$work/k.ptx"
  if (cd "$work" && ./first) >"$work/first.out"; then die "the header's program does without a kernel"; fi
  grep -q '^k.ptx: cannot be opened' "$work/first.out" || die "$(cat "$work/first.out")"
  ;;

cxx) # a project without C, from the README's excerpts
  need c++
  rm -rf "${work:?}/cxx" && mkdir -p "$work/cxx"
  excerpt cpp >"$work/cxx/program.cpp"
  cp "$work/kernel.ptx" "$work/cxx/kernel.ptx"
  { printf 'cmake_minimum_required(VERSION 3.16)\nproject(program LANGUAGES CXX)\nset(CMAKE_CXX_STANDARD 17)\n' && excerpt cmake; } \
    >"$work/cxx/CMakeLists.txt"
  project "$work/cxx" "-DCMAKE_PREFIX_PATH=$prefix" "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror"
  "$work/cxx/build/program" emu | grep '^emu: right$'
  ;;

rust)
  need rustc
  excerpt rust >"$work/program.rs"
  libdir=$(dirname "$(find "$prefix" -name libwarpscore.so)")
  rustc --edition 2021 -D warnings -L "native=$libdir" -l warpscore -C "link-arg=-Wl,-rpath,$libdir" -o "$work/rust" "$work/program.rs" 2>"$work/rust.log" || {
    # Toolchains older than C string literals (Rust 1.77) have nothing to say about the library.
    if grep -q 'c"' "$work/rust.log"; then echo "this rustc is too old: skipped"; exit 77; fi
    cat "$work/rust.log" >&2
    die "the excerpt does not compile"
  }
  "$work/rust" "$work/kernel.ptx" emu 64 | grep '^right$'
  if "$work/rust" "$work/no.ptx" emu 64; then die "a missing file was loaded"; fi
  ;;

python)
  need python3
  libdir=$(dirname "$(find "$prefix" -name libwarpscore.so)")
  python3 "$here/check_ctypes.py" "$source/examples/pytorch" "$libdir/libwarpscore.so" "$source/tests/runtime/data/copy.ptx" "$WS_LAYOUT"
  ;;

pytorch) # examples/pytorch/attention.py on a GPU, compiled and then from a cache
  need python3
  python3 -c 'import torch; raise SystemExit(not torch.cuda.is_available())' 2>/dev/null || { echo "no PyTorch with a GPU: skipped"; exit 77; }
  libdir=$(dirname "$(find "$prefix" -name libwarpscore.so)")
  rm -rf "${work:?}/cache"
  for how in "compiled in" "cached in"; do
    python3 -B "$source/examples/pytorch/attention.py" --library "$libdir/libwarpscore.so" --cache "$work/cache" "$work/kernel.ptx" | tee "$work/pytorch.out"
    grep -q "kernel.ptx: $how" "$work/pytorch.out" || die "not $how"
  done
  ;;

valgrind) # the loader, the emulator and the example with not one error or lost byte
  need valgrind
  example valgrind "-DCMAKE_PREFIX_PATH=$prefix"
  valgrind -q --error-exitcode=9 --leak-check=full --show-leak-kinds=definite,indirect,possible --errors-for-leak-kinds=definite,indirect,possible \
    "$work/valgrind/build/embed" emu >"$work/valgrind.out" 2>"$work/valgrind.err" || { head -n 60 "$work/valgrind.err" >&2; die "see above"; }
  grep ': right$' "$work/valgrind.out"
  [ ! -s "$work/valgrind.err" ] || { head -n 60 "$work/valgrind.err" >&2; die "see above"; }
  ;;

*) die "no such case" ;;
esac
