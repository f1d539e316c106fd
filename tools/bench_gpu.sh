#!/bin/bash
# Tests and measures policygrad on a GPU, within a time, and PyTorch beside it where python3 has it. What was found so far
# is in the results' folder at any moment; summary.txt is also printed.
#   tools/bench_gpu.sh pack      copies the packages that a build needs into .gpu/: for a machine that has only nvcc, CMake
#                                and a C++ compiler. On Debian and Ubuntu.
#   tools/bench_gpu.sh [--minutes 10] [--steps "machine build tests sanitizer bench rivals"] [RESULTS, else gpu-results]
set -u
cd "$(dirname "$0")/.." || exit 1

pack() {
  local packages file
  sh scripts/setup.sh --missing || { echo "first: sh scripts/setup.sh" >&2; return 1; }
  packages=$(dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' libfmt-dev 'libfmt[0-9]*' libcli11-dev catch2 \
    nlohmann-json3-dev libyaml-cpp-dev 'libyaml-cpp[0-9]*' libpcre2-dev libpcre2-8-0 'libutf8proc*' libgmp-dev libgmp10 'libgmpxx*' | sed -n 's/^ii  *//p')
  rm -rf .gpu
  mkdir .gpu
  # shellcheck disable=SC2086  # a list of names
  dpkg-query -L $packages | grep -E '^/usr/(include|lib|share/cmake)|/cmake/' | sort -u | while read -r file; do
    [ -d "$file" ] || cp -L --parents "$file" .gpu  # links become files: not every way of copying keeps them
  done
  echo "packed: $(du -sh .gpu | cut -f1) in .gpu/"
}
if [ "${1:-}" = pack ]; then pack; exit; fi

minutes=10 steps='machine build tests sanitizer bench rivals' results=gpu-results
while [ $# -gt 0 ]; do
  case $1 in
    --minutes) minutes=$2; shift 2 ;;
    --steps) steps=$2; shift 2 ;;
    -*) sed -n '2,7p' "$0"; exit 2 ;;
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
do_tests() { # first with launches that wait for their kernels, so that an error names its kernel
  limited 180 tests_sync.log env POLICYGRAD_CUDA_SYNC=1 $build/cuda_tests --durations yes
  say "cuda_tests, each kernel waited for: $(grep -E '^[0-9]+ passed' "$results/tests_sync.log" || echo 'did not end')"
  grep -E 'CUDA says|FAILED:' "$results/tests_sync.log" | head -n 20 | tee -a "$summary"
  limited 180 tests.log $build/cuda_tests --durations yes
  say "cuda_tests: $(grep -E '^[0-9]+ passed' "$results/tests.log" || echo 'did not end')"
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
