#!/bin/sh
# The core alone: docs/core_demo.cpp, which links pg_core and fmt, learns characters and to copy. Usage: core.sh BUILD_FOLDER
# With METHODS… behind it: that it learns to copy by these.
set -u
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
fail() { echo "core: $1" >&2; cat "$log" >&2; exit 1; }
learned() { awk "/^$1, step/"' { if (!n++) first = $NF; last = $NF } END { exit !(first < 0.3 && last >= 0.9) }' "$log"; }
if [ $# -gt 1 ]; then
  build=$1
  shift
  for method; do
    "$build/core_demo" "$method" >"$log" 2>&1 || fail "docs/core_demo.cpp fails with $method"
    learned "$method" || fail "$method does not learn to copy"
  done
  exit 0
fi
"$1/core_demo" >"$log" 2>&1 || fail 'docs/core_demo.cpp fails'
awk '/^characters, step/ { if (!first) first = $NF; last = $NF } END { exit !(first > 2.3 && last < 0.5) }' "$log" ||
  fail 'it does not learn characters'
learned grpo || fail 'it does not learn to copy'
if "$1/core_demo" GRPO >"$log" 2>&1; then fail 'an unknown method is accepted'; fi
grep -q '^  dr_grpo' "$log" || fail 'the error does not list the methods'
# Nothing of it is in the program but what the core and the standard library have.
if command -v nm >/dev/null && nm -C "$1/core_demo" | grep -E ' T pg::(Json|Trainer|Decoder|Comm::|LatentAttention|add_lora)' >"$log"; then
  fail 'it contains what is no part of the core'
fi
