#!/bin/sh
# handout.sh DIR: writes a copy of the tree for learners to DIR, which must be new or empty. It has no answers.h, no
# answers.js, no mutants* (tables of wrong answers), no tests/web/mistakes.js (those in JavaScript, beside lines of
# answers), no hunt.csv (their pictures), and none of the headers that only mutants* include. The known mistakes stay,
# because the checks run them. Each lesson has its exercise as made from answers.h, and a copy of it, exercise.stub, for
# ./lessonN reset.
set -eu
fail() {
  echo "handout: $1" >&2
  exit 1
}
case ${1:-} in '') fail 'type: make handout DIR=FOLDER' ;; /*) to=$1 ;; *) to=$PWD/$1 ;; esac
cd "$(dirname "$0")/.."
[ ! -e "$to" ] || [ -d "$to" ] || fail "$to is not a folder"
[ -z "$(ls -A "$to" 2>/dev/null)" ] || fail "$to is not empty"
mkdir -p "$to" || fail "$to cannot be made"

list=$(mktemp)
trap 'rm -f "$list"' EXIT
# Without git: all files but what a build or a learner leaves here.
if [ "$(git rev-parse --show-toplevel 2>/dev/null)" = "$(pwd -P)" ]; then
  git ls-files
else
  find . \( -name .git -o -path './build*' -o -path ./runs -o -path ./data -o -path "./${to#"$PWD"/}" \) -prune -o \
    -type f ! -name '*.bak-*' ! -name .progress.json ! -path './lesson*_report.html' \
    ! -path './lesson*_slides.html' ! -path './lesson*.cast' -print | sed 's|^\./||'
fi >"$list"

only_in_mutants() { # only_in_mutants HEADER: whether the wrong answers include it, and nothing else does
  grep -q "\"$1\"" "${1%/*}"/mutants* 2>/dev/null &&
    ! grep -rl "\"$1\"" lessons tests tools --include='*.h' --include='*.cpp' --include='*.cu' | grep -qv '/mutants[^/]*$'
}
while IFS= read -r file; do
  [ -f "$file" ] || continue # removed since the last commit
  case $file in
    lessons/[0-9][0-9]*_*/answers.h | lessons/[0-9][0-9]*_*/web/answers.js | tests/web/mistakes.js) continue ;;
    lessons/[0-9][0-9]*_*/mutants* | lessons/[0-9][0-9]*_*/hunt.csv) continue ;;
    lessons/[0-9][0-9]*_*/exercise.*) continue ;; # made below, whatever this tree's learner has written
    lessons/[0-9][0-9]*_*/*.h) if only_in_mutants "$file"; then continue; fi ;;
  esac
  mkdir -p "$to/$(dirname "$file")"
  cp -p "$file" "$to/$file"
done <"$list"

for lesson in lessons/[0-9][0-9]*_*; do
  exercise=exercise.cpp
  [ ! -e "$lesson/exercise.cu" ] || exercise=exercise.cu
  sh scripts/make_exercise.sh --print "$lesson" >"$to/$lesson/exercise.stub"
  cp "$to/$lesson/exercise.stub" "$to/$lesson/$exercise"
done
echo "$to has the course without answers. It can be zipped; a laptop needs nothing else."
