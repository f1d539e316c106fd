#!/bin/bash
# Tests and measures policygrad on a GPU, within a time, and PyTorch beside it where python3 has it. What was found so far
# is in the results' folder at any moment; summary.txt is also printed.
#   tools/bench_gpu.sh pack      copies the packages that a build needs into .gpu/: for a machine that has only nvcc, CMake
#                                and a C++ compiler. On Debian and Ubuntu. It also packs the programs of build-cuda, if
#                                they are there, so that none is compiled on the other machine. They must fit its card
#                                and processor: cmake -S . -B build-cuda -DPOLICYGRAD_CUDA=nvcc
#                                -DCMAKE_CUDA_ARCHITECTURES=90-real -DPOLICYGRAD_NATIVE=OFF
#                                -DCMAKE_CXX_FLAGS=-march=x86-64-v3
#   tools/bench_gpu.sh [--minutes 10] [--steps "machine build tests sanitizer bench rivals"] [RESULTS, else gpu-results]
set -u
cd "$(dirname "$0")/.." || exit 1

pack() {
  local packages file
  sh scripts/setup.sh --missing || { echo "first: sh scripts/setup.sh" >&2; return 1; }
  packages=$(sh scripts/setup.sh --packages | tr ' ' '\n' | grep -vxE 'g\+\+|make|cmake|curl|ca-certificates')
  # What they need, one level deep: shared libraries; where catch2 is a name only, the package with its header and library.
  # shellcheck disable=SC2016,SC2086  # dpkg's variables; a list of names
  packages+=$'\n'$(dpkg-query -W -f '${Depends}\n' $packages | tr ',' '\n' | sed 's/^ *//; s/[ |(:].*//' | sort -u |
    grep -vE '^(libc6.*|libc-dev|libstdc.*|libgcc.*|)$') || return
  rm -rf .gpu
  mkdir .gpu
  # shellcheck disable=SC2086  # a list of names
  dpkg-query -L $packages | grep -E '^/usr/(include|lib|share/cmake)|/cmake/' | sort -u | while read -r file; do
    [ -d "$file" ] || cp -L --parents "$file" .gpu  # links become files: not every way of copying keeps them
  done
  if [ -z "$(find .gpu -name 'catch*.hpp')" ] || [ -z "$(find .gpu -name 'libCatch2*')" ]; then
    echo "pack: expected the header and the library of Catch2, found only $(find .gpu -iname '*catch2*' -print -quit)" >&2
    return 1
  fi
  if [ -x build-cuda/pg ] && [ -x build-cuda/cuda_tests ]; then
    mkdir -p .gpu/built/lib
    cp build-cuda/pg build-cuda/cuda_tests .gpu/built
    # The C and C++ libraries and CUDA's are those of the other machine.
    ldd .gpu/built/pg .gpu/built/cuda_tests | sed -n 's|.*=> \(/[^ ]*\) .*|\1|p' |
      grep -vE '/lib(c|m|dl|pthread|rt|gcc_s|stdc\+\+)\.so|/lib(cu|nccl)' | sort -u |
      while read -r file; do cp -L "$file" .gpu/built/lib; done
    strip .gpu/built/pg .gpu/built/cuda_tests
    tar -C .gpu/built -cJf .gpu/built.tar.xz . && rm -r .gpu/built
  fi
  echo "packed: $(du -sh .gpu | cut -f1) in .gpu/"
}
if [ "${1:-}" = pack ]; then pack; exit; fi

minutes=10 steps='machine build tests sanitizer bench rivals' results=gpu-results
while [ $# -gt 0 ]; do
  case $1 in
    --minutes) minutes=$2; shift 2 ;;
    --steps) steps=$2; shift 2 ;;
    -*) sed -n '2,10p' "$0"; exit 2 ;;
    *) results=$1; shift ;;
  esac
done
case $minutes in '' | *[!0-9]*) echo "--minutes: expected a whole number, got $minutes" >&2; exit 2 ;; esac
mkdir -p "$results"
results=$(cd "$results" && pwd)
summary=$results/summary.txt
deadline=$((minutes * 60 - 10))
build='build-cuda'
PATH=$PATH:/usr/local/cuda/bin
say() { echo "$*" | tee -a "$summary"; }

limited() { # limited SECONDS LOG COMMAND...: at most so long and never past the deadline; its output is added to LOG
  local limit=$1 log=$results/$2 start=$SECONDS left=$((deadline - SECONDS)) status
  shift 2
  if [ "$left" -lt 10 ]; then say "skipped, no time left: $*"; return 1; fi
  if [ "$limit" -gt "$left" ]; then limit=$left; fi
  echo "== $*" >>"$log"
  timeout -k 5 "$limit" "$@" >>"$log" 2>&1
  status=$?
  [ $status = 0 ] || say "$([ $status = 124 ] && echo "stopped after $limit s" || echo "FAILED ($status)"): $*"
  echo "== status $status after $((SECONDS - start)) s" >>"$log"
  return $status
}

# The toolkit inside PyTorch's packages, where nvcc or cuBLASLt are nowhere else.
python_cuda() {
  python3 - <<'PYTHON'
import glob, os, site, sysconfig
for folder in {*site.getsitepackages(), sysconfig.get_path("purelib")}:
    for header in glob.glob(os.path.join(folder, "nvidia", "*", "include", "cublasLt.h")):
        print(os.path.dirname(os.path.dirname(header)))
        raise SystemExit
PYTHON
}

do_machine() {
  { date -u; uname -a; nproc; free -g | sed -n 2p; c++ --version | sed -n 1p; cmake --version | sed -n 1p
    "${nvcc:-nvcc}" --version | tail -n 2; nvidia-smi
    python3 -c 'import sys, torch; print(sys.version, torch.__version__, torch.backends.cudnn.version())'
  } >>"$results/machine.txt" 2>&1
  say "$(nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>&1 | head -n 1)"
}
do_build() {
  if [ -e .gpu/built.tar.xz ]; then
    mkdir -p $build && tar -C $build -xJf .gpu/built.tar.xz || return 1
    local path=$PWD/$build/lib folder
    for folder in /usr/local/cuda/lib64 $(python3 -c 'import site; print(*site.getsitepackages())' 2>/dev/null |
      tr ' ' '\n' | while read -r site; do ls -d "$site"/nvidia/*/lib 2>/dev/null; done); do path+=:$folder; done
    export LD_LIBRARY_PATH=$path
    say "the programs of .gpu/built.tar.xz"
    limited 60 build.log $build/pg --version
    return
  fi
  local options=() package config cap root library
  [ ! -d .gpu ] || options+=("-DCMAKE_PREFIX_PATH=$PWD/.gpu/usr")  # PCRE2, utf8proc and GMP have no CMake package
  for package in fmt nlohmann_json CLI11 yaml-cpp Catch2; do
    config=$(find .gpu -iname "${package}-config.cmake" -o -iname "${package}Config.cmake" 2>/dev/null | head -n 1)
    [ -z "$config" ] || options+=("-D${package}_DIR=$PWD/$(dirname "$config")")
  done
  cap=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | sed -n '1s/\.//p')
  root=$(python_cuda 2>/dev/null)
  if [ -z "$nvcc" ] && [ -x "$root/bin/nvcc" ]; then export CUDACXX=$root/bin/nvcc; fi
  if [ ! -e "$(dirname "${nvcc:-x}")/../include/cublasLt.h" ] && [ -n "$root" ]; then
    library=$(find "$root/lib" -name 'libcublasLt.so*' | head -n 1)
    options+=("-DCUDA_cublasLt_LIBRARY=$library")
    export CPATH=$root/include
    say "cuBLASLt of python3: $library"
  fi
  if command -v ninja >/dev/null; then options+=(-G Ninja); fi
  if limited 120 build.log cmake -S . -B $build -DCMAKE_BUILD_TYPE=Release -DPOLICYGRAD_CUDA=nvcc \
    "-DCMAKE_CUDA_ARCHITECTURES=${cap:-90}-real" "${options[@]}" &&
    limited 300 build.log cmake --build $build --parallel "$(nproc)" --target pg cuda_tests; then return 0; fi
  tail -n 30 "$results/build.log"
  return 1
}
all_tests() { # LOG [VARIABLE=VALUE]...: all tests, in several processes; prints "N passed, N failed, N skipped"
  local log=$1 parts i names
  shift
  parts=$(($(nproc) < 6 ? $(nproc) : 6))
  # Only Catch2 2 lists names so; a comma would separate two tests.
  $build/cuda_tests --list-test-names-only 2>/dev/null | sed 's/[],[]/\\&/g' >"$results/names"
  [ -s "$results/names" ] || parts=1
  for i in $(seq "$parts"); do
    awk -v parts="$parts" -v i="$i" 'NR % parts == i % parts' "$results/names" >"$results/names.$i"
    names=()
    [ ! -s "$results/names.$i" ] || names=(-f "$results/names.$i")
    limited 180 "$log.$i" env POLICYGRAD_CACHE="$results/cache.$i" "$@" $build/cuda_tests --durations yes "${names[@]}" &
  done
  for i in $(jobs -p | grep -vx "$watcher"); do wait "$i"; done
  cat "$results/$log".[0-9] >>"$results/$log"
  grep -hE '^[0-9]+ passed' "$results/$log".[0-9] | awk -v parts="$parts" '
    { passed += $1; failed += $3; skipped += $5 }
    END { print passed + 0 " passed, " failed + 0 " failed, " skipped + 0 " skipped" (NR < parts ? "; not all ended" : "") }'
  rm -f "$results/$log".[0-9] "$results"/names*
}
do_tests() { # first with launches that wait for their kernels, so that an error names its kernel
  say "cuda_tests, each kernel waited for: $(all_tests tests_sync.log POLICYGRAD_CUDA_SYNC=1)"
  grep -E 'CUDA says|FAILED:' "$results/tests_sync.log" | head -n 20 | tee -a "$summary"
  say "cuda_tests: $(all_tests tests.log)"
  grep -E '^skipped:|FAILED:' "$results/tests.log" | head -n 20 | tee -a "$summary"
}
do_sanitizer() {
  local tool
  command -v compute-sanitizer >/dev/null || { say 'no compute-sanitizer'; return; }
  for tool in memcheck racecheck; do
    limited 45 sanitizer.log compute-sanitizer --tool $tool --error-exitcode 9 $build/cuda_tests \
      "GPT-2 on CUDA has the CPU's loss and gradients" && say "$tool: clean"
  done
}
do_bench() {
  local part
  for part in gemm attention memory 'train 124M, 64' 'train 124M, 16' 'decode 124M' 'train 124M, voc'; do
    limited 60 bench.txt $build/pg bench --device cuda --dtype bf16 --repeat 20 --filter "$part"
  done
  limited 60 bench.txt $build/pg bench --device cuda --dtype f32 --repeat 20 --filter 'gemm proj'
  grep -vE '^==|^$' "$results/bench.txt" | awk '!seen[$0]++' | tee -a "$summary"  # the ceilings' lines repeat
}
do_rivals() {
  local left=$((deadline - SECONDS))
  python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null || { say 'python3 has no PyTorch that sees the card'; return; }
  limited "$left" rivals.txt python3 tools/compare/bench_gpu.py --pg $build/pg --out "$results/rivals.jsonl" \
    --minutes "$(awk "BEGIN { print ($left - 20) / 60 }")"
  grep -v '^==' "$results/rivals.txt" | tee -a "$summary"
}

nvcc=$(command -v nvcc)
nvidia-smi --query-gpu=timestamp,clocks.sm,clocks.mem,power.draw,temperature.gpu --format=csv -l 5 \
  >>"$results/machine.txt" 2>&1 &
watcher=$!
trap 'kill $watcher 2>/dev/null' EXIT
for step in $steps; do
  start=$SECONDS
  say "== $step"
  "do_$step" || { [ "$step" != build ] || exit 1; }
  say "== $step: $((SECONDS - start)) s"
done
