#!/bin/sh
# run_tests.sh BUILD JOBS [CTEST OPTION...]: runs CTest in BUILD, shows what failed, what was skipped and the ten tests
# that took the most processor time, and ends with "N passed, N failed, N skipped". A test that prints such a line counts
# by it, any other test counts as one.
#   LONG=1       runs the long tests too (label `long`); without it they are left out, and a line says how many.
#   BUDGET=1     a test that is not long fails if it takes more processor time than tests/costs.txt allows. Machines
#                differ: the times count in seconds of the machine that recorded the costs, by the median of all tests.
#   RECORD=1     writes the costs of this run, which must be of all tests, to tests/costs.txt.
set -u
build=$1
jobs=$2
shift 2
log=$build/tests.log
if [ -n "${RECORD:-}" ] && [ $# -gt 0 ]; then
  echo "run_tests: RECORD=1 takes the costs of all tests, so it takes no options of CTest; got: $*" >&2
  exit 2
fi
long=$(ctest --test-dir "$build" -N -L long | sed -n 's/^ *Test *#[0-9]*: //p' | tr '\n' ';') # names have no semicolons
left_out=0
if [ -z "${LONG:-}" ]; then
  left_out=$(printf %s "$long" | tr -cd ';' | wc -c)
  set -- "$@" -LE long
fi
ctest --test-dir "$build" -V -j "$jobs" "$@" >"$log" 2>&1
awk '
NR == 1 { for (i = split(long, names, ";"); i > 0; --i) is_long[names[i]] }
function count(id,    status, outcome, spent) {
  status = result[id]
  outcome = status ~ /^ *Passed/ ? "passed" : status ~ /\*\*\*Skipped/ ? "skipped" : "failed"
  if (!(id in tallied)) {
    passed[id] = outcome == "passed"; skipped[id] = outcome == "skipped"; failed[id] = 0
  }
  if (outcome == "failed" && !failed[id]) failed[id] = 1
  spent = cpu[id] / speed
  if (outcome == "passed" && budget && spent > allowed(name[id])) {
    failed[id] += 1
    status = sprintf("passed, but over its budget of %s s of processor time: %.1f s", allowed(name[id]), spent)
  }
  if (failed[id]) { printf "\nFAILED  %s (%s)\n%s", name[id], status, output[id] }
  all_passed += passed[id]; all_failed += failed[id]; all_skipped += skipped[id]
  if (failed[id]) failures = failures "\n  FAILED  " name[id]
}
function allowed(test) { return test in is_long ? 1e9 : test in budgets ? budgets[test] : default_budget }
# The time of this machine for a second of the one that recorded: the median of the tests that took a second there.
function machine_speed(    id, n, i, j, ratio, ratios) {
  for (id in cpu) if (recorded[name[id]] >= 1) ratios[++n] = cpu[id] / recorded[name[id]]
  if (n < 20) return 1
  for (i = 2; i <= n; ++i) {
    ratio = ratios[i]
    for (j = i - 1; j > 0 && ratios[j] > ratio; --j) ratios[j + 1] = ratios[j]
    ratios[j + 1] = ratio
  }
  return ratios[int((n + 1) / 2)]
}
FILENAME == costs {
  if ($1 == "default") default_budget = $2
  if ($1 == "budget") { value = $2; sub(/^budget +[0-9.]+ +/, ""); budgets[$0] = value }
  if ($1 == "cost") { value = $2; sub(/^cost +[0-9.]+ +/, ""); recorded[$0] = value }
  next
}
/^ *Start +[0-9]+: / {
  line = $0; sub(/^ *Start +/, "", line); id = line; sub(/:.*/, "", id); sub(/^[0-9]+: /, "", line); name[id] = line; next
}
/^[0-9]+: / {
  id = $0; sub(/:.*/, "", id); text = $0; sub(/^[0-9]+: /, "", text)
  if (text ~ /^(Test command:|Working Directory:|Test timeout computed)/) next
  if (text ~ /^cpu [0-9.]+ s$/) { split(text, part, " "); cpu[id] = part[2] + 0; next }
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
  result[id] = substr(status, RSTART); finished[++tests] = id
}
END {
  speed = machine_speed()
  for (i = 1; i <= tests; ++i) count(finished[i])
  if (skips != "") print "\nSkipped:" skips
  print "\nThe tests that took the most processor time, in seconds:"
  sorted = "sort -rn | head -n 10"
  for (id in cpu) printf "  %6.2f  %s\n", cpu[id], name[id] | sorted
  close(sorted)
  if (budget) printf "Budgets: a second of the recorded costs took %.2f s here.\n", speed
  if (record) {
    for (id in cpu) if (cpu[id] >= 0.5) printf "cost %.1f %s\n", cpu[id], name[id] | "sort -k 2,2rn -k 3 >" record
    close("sort -k 2,2rn -k 3 >" record)
  }
  if (failures != "") print "\nFailed:" failures
  if (all_passed + all_failed + all_skipped == 0) { print "No test ran."; all_failed = 1 }
  if (all_failed) print "\nThe whole log is in " log_path "."
  if (left_out > 0) print left_out " long tests are left out: make test LONG=1 runs them."
  printf "%d passed, %d failed, %d skipped\n", all_passed, all_failed, all_skipped
  exit all_failed > 0
}' costs=tests/costs.txt log_path="$log" long="$long" left_out="$left_out" budget="${BUDGET:-}" \
  record="${RECORD:+$build/costs.txt}" tests/costs.txt "$log"
status=$?
if [ -n "${RECORD:-}" ] && [ -s "$build/costs.txt" ]; then
  { grep -v '^cost ' tests/costs.txt; cat "$build/costs.txt"; } >"$build/costs.new" && cp "$build/costs.new" tests/costs.txt
fi
exit "$status"
