#!/bin/sh
# mistakes.sh BUILD JOBS DIR: writes a page (Markdown) per lesson to DIR, and README.md that lists them. DIR is new, empty
# or has pages that this script wrote before. A page has each known mistake, what the check that finds it says with its
# numbers, and what a training shows. The pages are what the programs lessonN_mutants print, which are built first.
set -eu
build=$1
jobs=$2
to=${3:-}
[ -n "$to" ] || { echo 'mistakes: type: make mistakes DIR=FOLDER' >&2; exit 1; }
case $to in /*) ;; *) to=$PWD/$to ;; esac
cd "$(dirname "$0")/.."
ls lessons/[0-9][0-9]*_*/mutants* >/dev/null 2>&1 || { echo 'mistakes: a handout has no table of mistakes' >&2; exit 1; }
# shellcheck disable=SC2016  # Markdown
made='Made by `make mistakes` from the tables that the checks of the lessons are tested with.'
if [ -n "$(ls -A "$to" 2>/dev/null)" ] && ! grep -qF "$made" "$to/README.md" 2>/dev/null; then
  echo "mistakes: $to has other files, which would be lost: choose a new folder" >&2
  exit 1
fi
mkdir -p "$to"
index=$(mktemp)
trap 'rm -f "$index"' EXIT
all=0
for folder in lessons/[0-9][0-9]*_*; do
  name=${folder#lessons/}
  number=${name%%_*}
  program=lesson${number#0}_mutants
  sh scripts/build.sh "$build" "$jobs" "$program"
  "$build/$program" page >"$to/$name.md"
  title=$(sed -n '1s/^# //p' "$to/$name.md")
  count=$(echo "$title" | sed 's/.*: \([0-9]*\) mistakes$/\1/')
  all=$((all + count))
  printf '| [%s](%s.md) | %s |\n' "${title%: *}" "$name" "$count" >>"$index"
done
{
  printf '# %s mistakes\n\n' "$all"
  printf '%s\n\n' "$made"
  printf '| lesson | mistakes |\n|---|---|\n'
  cat "$index"
} >"$to/README.md"
echo "$to/README.md: $all mistakes"
