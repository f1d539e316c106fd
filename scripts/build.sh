#!/bin/sh
# build.sh BUILD JOBS TARGET...: builds. Of a failure it shows what the compiler says, not the line that called it; of
# work to do, one line that is replaced on a terminal.
set -eu
build=$1
jobs=$2
shift 2
live=
if [ -t 1 ]; then
  live=1
  export CLICOLOR_FORCE=1 # ninja keeps the compiler's colours
fi
status=$(mktemp)
trap 'rm -f "$status"' EXIT
{
  code=0
  sh "$(dirname "$0")/cpu_seconds.sh" cmake --build "$build" --parallel "$jobs" --target "$@" 2>&1 || code=$?
  echo "$code" >"$status"
} | {
  red=$(printf '\033[31m')
  shown=''
  command_follows=''
  while IFS= read -r line; do
    if [ "$command_follows" ]; then
      command_follows=
      continue
    fi
    case $line in
      'cpu '*' s') printf '%s\n' "$line" >"$build/build.times" && continue ;; # for scripts/build_budget.sh
      *'Re-checking globbed directories'* | 'ninja: no work to do.' | 'ninja: build stopped'*) continue ;;
      'FAILED: '* | "$red"'FAILED: '*) command_follows=1 ; continue ;;
      '['[0-9]*/[0-9]*'] '*)
        if [ "$live" ]; then
          printf '\r\033[K%.79s' "$line"
          shown=1
          continue
        fi ;;
    esac
    if [ "$shown" ]; then printf '\r\033[K'; fi
    shown=
    printf '%s\n' "$line"
  done
  if [ "$shown" ]; then printf '\r\033[K'; fi
}
exit "$(cat "$status")"
