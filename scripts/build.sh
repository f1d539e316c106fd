#!/bin/sh
# build.sh BUILD JOBS TARGET...: builds. For a failure it shows what the compiler says, not the line that called it; of
# work to do, one line that is replaced on a terminal. Where the first target is not there yet it says how long that
# will take. With QUIET=1 it shows no other line unless the build fails.
set -eu
build=$1
jobs=$2
shift 2
objects() { # objects TARGET...: the object files that these targets need, from what CMake wrote for ninja or make
  if [ -e "$build/build.ninja" ]; then
    ninja -C "$build" -t commands "$@" | sed -n 's/.* -o \([^ ]*\) -c .*/\1/p'
  else
    awk -v goals="$*" '
      BEGIN {
        n = split(goals, goal, " ")
        for (i = 1; i <= n; ++i) need[goal[i]] = need["CMakeFiles/" goal[i] ".dir/all"] = 1
      }
      /^[^ \t#]*all: / { sub(/:/, ""); from[++rows] = $1; to[rows] = $2 }
      END {
        while (more--) for (i = 1; i <= rows; ++i) if (need[from[i]] && !need[to[i]]) need[to[i]] = more = 1
        for (target in need) if (need[target] && sub(/\/all$/, "", target)) print target
      }' more=1 "$build/CMakeFiles/Makefile2" |
      while IFS= read -r folder; do
        sed -n 's/.*"Building C[A-Z]* object \(.*\)"$/\1/p' "$build/$folder/build.make"
      done
  fi 2>/dev/null
}
if [ ! -e "$build/$1" ]; then
  files=$(objects "$@" | while IFS= read -r object; do [ -e "$build/$object" ] || echo "$object"; done | wc -l)
  seconds=$((files * 14 / 10 / jobs + 5)) # a file takes 1.4 seconds of a core, the mean of the whole tree
  if [ "$files" -gt 20 ]; then
    echo "$((files + 0)) files to compile, about $seconds seconds with $jobs cores. Later builds compile what changed."
  fi
fi
live=
if [ -t 1 ]; then
  live=1
  export CLICOLOR_FORCE=1 # ninja keeps the compiler's colours
fi
status=$(mktemp)
kept=$(mktemp) # what a quiet build shows only if it fails
trap 'rm -f "$status" "$kept"' EXIT
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
        fi
        [ "${QUIET:-0}" = 0 ] || continue ;;
    esac
    if [ "${QUIET:-0}" != 0 ]; then
      printf '%s\n' "$line" >>"$kept"
      continue
    fi
    if [ "$shown" ]; then printf '\r\033[K'; fi
    shown=
    printf '%s\n' "$line"
  done
  if [ "$shown" ]; then printf '\r\033[K'; fi
}
[ "$(cat "$status")" = 0 ] || cat "$kept"
exit "$(cat "$status")"
