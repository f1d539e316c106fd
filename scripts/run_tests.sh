#!/bin/sh
# run_tests.sh BUILD JOBS [CTEST OPTION...]: runs CTest in BUILD, shows what failed and what was skipped, and ends with
# "N passed, N failed, N skipped". A test that prints such a line counts by it, any other test counts as one.
set -u
build=$1
jobs=$2
shift 2
log=$build/tests.log
ctest --test-dir "$build" -V -j "$jobs" "$@" >"$log" 2>&1
awk '
function count(id, status,    ok, outcome) {
  if (!(id in tallied)) { passed[id] = failed[id] = skipped[id] = 0 }
  ok = status ~ /^ *Passed/
  outcome = ok ? "passed" : status ~ /\*\*\*Skipped/ ? "skipped" : "failed"
  if (!(id in tallied)) {
    if (outcome == "passed") passed[id] = 1
    if (outcome == "skipped") skipped[id] = 1
  }
  if (outcome == "failed" && !failed[id]) failed[id] = 1
  if (failed[id]) { printf "\nFAILED  %s (%s)\n%s", name[id], status, output[id] }
  all_passed += passed[id]; all_failed += failed[id]; all_skipped += skipped[id]
  if (failed[id]) failures = failures "\n  FAILED  " name[id]
}
/^ *Start +[0-9]+: / {
  line = $0; sub(/^ *Start +/, "", line); id = line; sub(/:.*/, "", id); sub(/^[0-9]+: /, "", line); name[id] = line; next
}
/^[0-9]+: / {
  id = $0; sub(/:.*/, "", id); text = $0; sub(/^[0-9]+: /, "", text)
  if (text ~ /^(Test command:|Working Directory:|Test timeout computed)/) next
  if (lines[id]++ < 300) output[id] = output[id] "  " text "\n"
  if (text ~ /^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$/) {
    split(text, part, " "); passed[id] = part[1]; failed[id] = part[3]; skipped[id] = part[5]; tallied[id] = 1
  }
  if (text ~ /^skipped: /) skips = skips "\n  " text
  next
}
/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: / {
  id = $0; sub(/^[^#]*#/, "", id); sub(/:.*/, "", id)
  status = $0
  if (!match(status, /(Passed|\*\*\*[A-Za-z].*) +[0-9.]+ sec *$/)) RSTART = 1
  count(id, substr(status, RSTART))
}
END {
  if (skips != "") print "\nSkipped:" skips
  if (failures != "") print "\nFailed:" failures
  if (all_passed + all_failed + all_skipped == 0) { print "No test ran."; all_failed = 1 }
  if (all_failed) print "\nThe whole log is in " log_path "."
  printf "%d passed, %d failed, %d skipped\n", all_passed, all_failed, all_skipped
  exit all_failed > 0
}' log_path="$log" "$log"
