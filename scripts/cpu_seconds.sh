#!/bin/sh
# cpu_seconds.sh COMMAND...: runs the command, then prints "cpu S s", the processor time of all processes that it waited
# for. The exit status is that of the command. scripts/run_tests.sh reads the line.
set -u
"$@"
status=$?
log=$(mktemp) || exit "$status"
times >"$log" # a pipe would print the times of a subshell
sed -n '2s/[ms]/ /gp' "$log" | awk '{ printf "cpu %.2f s\n", 60 * ($1 + $3) + $2 + $4 }'
rm -f "$log"
exit "$status"
