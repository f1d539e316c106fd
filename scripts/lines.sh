#!/bin/sh
# lines.sh: prints how many lines of C++ and CUDA and how many files git tracks, and fails if they are more than the
# budgets below, or if the reading path of docs/ARCHITECTURE.md has not about the length that it states. A change that
# needs more raises the budget in the same commit, and says why in its body. Run from the root.
set -eu
bad=0
lines_of() { git ls-files -- "$@" | grep -E '\.(h|cpp|cu|def)$' | tr '\n' '\0' | xargs -0 cat | wc -l; }
within() { # within WHAT NUMBER BUDGET
  printf '%-52s %7d of %7d\n' "$1" "$2" "$3"
  if [ "$2" -gt "$3" ]; then
    echo "FAILED: $1: take $(($2 - $3)) away, or raise the budget in scripts/lines.sh and say why in the commit"
    bad=1
  fi
}
# The core: the sources that cmake/core.cmake lists, those that pg_core has besides, and all headers that they include.
core=$(sed -n '/^set(POLICYGRAD_CORE/,/)/p' cmake/core.cmake | grep -oE '[a-z_0-9/]+\.cpp')
core="$core $(sed -n 's/^pg_core(pg_core \(.*\))/\1/p' cmake/layers.cmake)"
while
  # shellcheck disable=SC2086  # a list of files
  more=$({ printf '%s\n' $core; sed -n 's/^ *#include "\([^"]*\)".*/\1/p' $core; } | sort -u)
  [ "$more" != "$core" ]
do core=$more; done
# shellcheck disable=SC2086
within 'lines: the core' "$(cat $core | wc -l)" 8000
# shellcheck disable=SC2086
within 'files: the core' "$(printf '%s\n' $core | wc -l)" 79
within 'lines: tensor autograd nn rl tasks tools' "$(lines_of tensor autograd nn rl tasks tools)" 84100
within 'lines: lessons' "$(lines_of lessons)" 41400
within 'lines: tests' "$(lines_of tests)" 48980
within 'files' "$(git ls-files | wc -l)" 1895

# The files that "Read the engine in an evening" lists, and the number of lines that it states.
section=$(sed -n '/^## Read the engine in an evening/,/^Beside them/p' docs/ARCHITECTURE.md | sed '$d')
stated=$(echo "$section" | sed -n 's/.*about \([0-9]*\),\([0-9]*\) lines.*/\1\2/p')
# shellcheck disable=SC2016  # the backquotes are those of Markdown
path=$(echo "$section" | grep -oE '`[a-z0-9_/]+\.(h|cpp|def)`' | tr -d '`')
# shellcheck disable=SC2086  # a list of files
length=$(cat $path | wc -l)
printf '%-52s %7d, stated %d\n' 'lines of the reading path' "$length" "$stated"
off=$((length > stated ? length - stated : stated - length))
if [ $((off * 100)) -gt $((stated * 3)) ]; then
  echo "FAILED: docs/ARCHITECTURE.md, \"Read the engine in an evening\", states about $stated lines; its files have $length"
  bad=1
fi
exit $bad
