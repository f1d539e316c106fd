#!/bin/sh
# Counts the instructions per element of CUDA kernels as nvcc compiles them for sm_90 and compares them with limits.txt:
# memory-bound kernels that spend too many are slow on a GPU, and nothing else in these tests would show it. It needs
# nvcc and nvdisasm (in PATH, in /usr/local/cuda/bin, or $NVDISASM), but no GPU. Ends with "N passed, N failed, N
# skipped"; exit status 77 means skipped.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=build-sass limits=tests/sass/limits.txt
PATH=$PATH:/usr/local/cuda/bin

skip() {
  echo "skipped: sass: $1"
  echo '0 passed, 0 failed, 1 skipped'
  exit 77
}
command -v nvcc >/dev/null || skip 'no nvcc in PATH or /usr/local/cuda/bin'
disassemble=${NVDISASM:-nvdisasm}
command -v "$disassemble" >/dev/null || skip 'no nvdisasm in PATH or /usr/local/cuda/bin'

log=$(mktemp)
trap 'rm -f "$log"' EXIT
cmake -S . -B "$build" -DPOLICYGRAD_CUDA=nvcc -DCMAKE_CUDA_ARCHITECTURES=90-real -DCMAKE_EXPORT_COMPILE_COMMANDS=ON \
  >"$log" 2>&1 || {
  cat "$log"
  exit 1
}
# The commands of the build, with machine code as their output.
awk '!/^#/ && NF { print $4 }' "$limits" | sort -u | while read -r file; do
  sed -n "s|^  \"command\": \"\(.*\) -c \([^ ]*/tensor/cuda/$file\) -o .*\",\$|\1 -cubin \2 -o $file.cubin|p" \
    "$build/compile_commands.json" | sed 's/\\"/"/g; s/\\\\/\\/g'
done | tr '\n' '\0' | (cd "$build" && xargs -0 -n 1 -P "$(nproc)" sh -c) || exit 1

grep -v '^#' "$limits" | while read -r name measured limit file elements operands kernel; do
  [ -n "$name" ] || continue
  "$disassemble" -c "$build/$file.cubin" | awk -v name="$name" -v measured="$measured" -v limit="$limit" \
    -v elements="$elements" -v operands="$operands" -v kernel="$kernel" '
    /^\.text\./ { inside = $0 ~ kernel; kernels += inside; split("", start); instructions = wide = 0 }
    !inside { next }
    /^\.L_[a-z0-9_]*:/ { label = $1; sub(/:.*/, "", label); start[label] = instructions; before[label] = wide; next }
    /^ *\/\*[0-9a-f]+\*\// {
      ++instructions
      wide += operands == "exp" ? /MUFU\.EX2/ : /(LDG|STG)[A-Z0-9.]*\.128/
      if (!match($0, /BRA .*`\(\.L_[a-z0-9_]*\)/)) next
      label = substr($0, RSTART, RLENGTH)
      sub(/.*`\(/, "", label)
      sub(/\).*/, "", label)
      if (!(label in start) || wide == before[label]) next  # no loop, or one without packs
      count = (instructions - start[label]) * (operands == "exp" ? 1 : operands) / (elements * (wide - before[label]))
      if (!loops++ || count < least) least = count
    }
    END {
      ok = kernels == 1 && loops > 0 && least <= limit
      printf "%s %-16s ", ok ? "ok    " : "FAILED", name
      if (kernels != 1) printf "%d kernels match %s\n", kernels, kernel
      else if (!loops) print "has no loop with accesses of 16 bytes"
      else printf "%.2f instructions per element, measured %.2f, limit %g\n", least, measured, limit
    }'
done | awk '
{ print }
/^ok/ { ++passed }
/^FAILED/ { ++failed }
END {
  printf "%d passed, %d failed, 0 skipped\n", passed, failed
  exit failed > 0 || !passed
}'
