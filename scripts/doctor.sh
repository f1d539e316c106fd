#!/bin/sh
# Is this machine ready for policygrad? Works before anything is built. Ends with `ready` or the first thing to do;
# exit 0 or 1. --json prints the same as one object.
set -u
cd "$(dirname "$0")/.." || exit 1
json=${1:-}
first=   # the first thing to do
fields=  # the JSON members so far

show() { # show NAME VALUE [TODO]: one line of the report; with TODO something is wrong
  if [ "$json" = --json ]; then
    value=$(printf %s "$2" | sed 's/\\/\\\\/g; s/"/\\"/g')
    fields="$fields\"$1\": \"$value\", "
  else
    printf '%-10s %s\n' "$1" "$2"
  fi
  if [ -n "${3:-}" ] && [ -z "$first" ]; then first=$3; fi
}
version() { "$@" --version 2>/dev/null | sed -n 1p; }

missing=$(sh scripts/setup.sh --missing)
setup=${missing:+"sh scripts/setup.sh"}
cxx=${CXX:-c++}
if ! command -v "$cxx" >/dev/null; then
  show compiler "$cxx not found" "$setup"
elif echo 'auto f = []<class T>(T x) requires(sizeof(T) > 0) { return x; };' | "$cxx" -std=c++20 -fsyntax-only -x c++ - 2>/dev/null; then
  show compiler "$(version "$cxx"), knows C++20"
else
  show compiler "$(version "$cxx"), too old for C++20" "install g++ 12 or clang++ 14, or newer, and set CXX to it"
fi
cmake_version=$(version cmake | sed 's/[^0-9]*//')
case $cmake_version in
  '') show cmake 'not found' "$setup" ;;
  [0-2].* | 3.[0-9].* | 3.1[0-9].* | 3.20.*) show cmake "$cmake_version, 3.21 is needed" 'install CMake 3.21 or newer' ;;
  *) show cmake "$cmake_version" ;;
esac
if [ -z "$missing" ]; then
  show packages 'all here'
elif [ "$(uname -s)" = Darwin ]; then
  show packages "missing: brew install $missing" "$setup"
else
  show packages "missing: apt-get install $missing" "$setup"
fi

if [ -r /proc/cpuinfo ]; then
  cores=$(nproc)
  flags=$(grep -m1 -E '^(flags|Features)' /proc/cpuinfo)
  memory=$(awk '/MemAvailable/ { print int($2 / 1024) }' /proc/meminfo)
else
  cores=$(sysctl -n hw.ncpu)
  flags=$(sysctl -n machdep.cpu.leaf7_features machdep.cpu.features 2>/dev/null | tr 'A-Z\n' 'a-z ')
  memory=$(($(sysctl -n hw.memsize) / 1048576))
fi
case "$(uname -m) $flags " in
  *' avx512f '*) simd='512 bits (AVX-512)' ;;
  *' avx2 '*) simd='256 bits (AVX2)' ;;
  arm64* | aarch64*) simd='128 bits (NEON)' ;;
  *) simd='128 bits' ;;
esac
show cores "$cores"
show simd "$simd"
if [ "$memory" -lt 1000 ]; then
  show memory "$memory MiB" 'free some memory: compiling needs about 1000 MiB per core; JOBS=1 compiles one file at a time'
else
  show memory "$memory MiB"
fi
disk=$(df -Pm . | awk 'NR == 2 { print $4 }')
if [ "$disk" -lt 1000 ]; then
  show disk "$disk MiB free" 'free some disk space: a build and its runs need about 1000 MiB'
else
  show disk "$disk MiB free"
fi

case "${LC_ALL:-${LC_CTYPE:-${LANG:-}}}" in
  *[Uu][Tt][Ff]*8*) encoding=UTF-8 ;;
  *) encoding='not UTF-8: plots use plain characters (LC_ALL=C.UTF-8 changes that)' ;;
esac
width=$(stty size 2>/dev/null </dev/tty | cut -d' ' -f2)
show terminal "${width:-unknown} columns, $encoding"

nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)
if [ -n "$nvcc" ]; then
  show nvcc "$("$nvcc" --version | sed -n 's/.*release \([^,]*\),.*/\1/p'); make CUDA=1 builds for GPUs"
else
  show nvcc 'not found: make CUDA=1 needs it, nothing else does'
fi
nccl=
for root in "${NCCL_ROOT:-}" "${NCCL_HOME:-}" /usr/local/cuda /usr; do
  header=$root/include/nccl.h
  if [ -z "$nccl" ] && [ -n "$root" ] && [ -e "$header" ]; then
    nccl=$(sed -n 's/^#define NCCL_\(MAJOR\|MINOR\|PATCH\) *\([0-9]*\).*/\2/p' "$header" | paste -sd. -)
  fi
done
show nccl "${nccl:-not found}; only several GPUs need it"

if [ "$json" = --json ]; then
  if [ -z "$first" ]; then ready=true; else ready=false; fi
  printf '{%s"ready": %s, "todo": "%s"}\n' "$fields" "$ready" "$first"
elif [ -z "$first" ]; then
  echo ready
else
  echo "first: $first"
fi
[ -z "$first" ]
