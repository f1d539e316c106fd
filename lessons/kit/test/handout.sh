#!/bin/sh
# handout.sh SOURCE BUILD CMAKE: a handout (scripts/handout.sh) has no answers, CMake finds every lesson in it, and its
# lesson 1, built with the kit of BUILD, grades, resets and has no solutions. The page of answers has them all.
set -eu
source=$1
build=$2
cmake=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree="$work/a handout"
out=$work/out
fail() {
  echo "FAILED: $1"
  [ ! -e "$out" ] || tail -n 30 "$out"
  exit 1
}
expect() { # expect STATUS COMMAND...: runs it in the handout
  want=$1
  shift
  got=0
  (cd "$tree" && "$@") >"$out" 2>&1 </dev/null || got=$?
  [ "$got" = "$want" ] || fail "$* ends with status $got, expected $want"
}
says() { grep -q -e "$1" "$out" || fail "these words are missing: $1"; }
cache() { sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt"; }

sh "$source/scripts/handout.sh" "$tree" >"$out" 2>&1 || fail 'scripts/handout.sh failed'

# No file of answers, and no answer in any text. The named ones are a line that the engine or a check has too.
found=$(find "$tree/lessons/"[0-9]* "$tree/tests/web" -name 'answers.*' -o -name mistakes.js -o -name 'mutants*' -o \
  -name hunt.csv -o -name '*.bak-*')
[ -z "$found" ] || fail "the handout has $found"
# Prints "NAME of the answer", a space, and its text without spaces.
answers() {
  awk '
    match($0, /\/\/ \[answer [^]]*\]/) { name = substr($0, RSTART + 11, RLENGTH - 12); text = ""; inside = 1; next }
    /\/\/ \[end\]/ && inside { gsub(/ /, "_", name); print name, text; inside = 0 }
    inside { gsub(/[ \t]/, ""); text = text $0 }' "$source"/lessons/[0-9]*/answers.h
}
ls "$source"/lessons/[0-9]*/answers.h >/dev/null 2>&1 || { echo "skipped: this tree is a handout"; exit 77; }
answers >"$work/answers"
[ "$(wc -l <"$work/answers")" -ge 70 ] || fail 'fewer than 70 answers were found'
everything() { find "$tree" -type f -exec cat {} + | tr -d ' \t\n\000'; }
shown() { # shown FILE: the names of the answers in a text without spaces
  awk -v text="$1" '
    BEGIN { RS = "\001"; getline all < text; RS = "\n" }
    index(all, $2) { print $1 }' "$work/answers"
}
everything >"$work/everything"
known='11.1_blocks_for 11.1_first_index 11.1_index_step 11.5_slot'
leaked=$(shown "$work/everything" | grep -vxF "$(echo "$known" | tr ' ' '\n')") || true
[ -z "$leaked" ] || fail "the handout has these answers: $leaked"
tr -d ' \t\n' <"$source/lessons/01_tensors/answers.h" >"$work/everything" # the search can find something
[ "$(shown "$work/everything" | grep -c '^01')" -ge 4 ] || fail 'the search for answers finds none'

# Every lesson begins as it would here.
for lesson in "$source"/lessons/[0-9]*; do
  name=lessons/${lesson##*/}
  sh "$source/scripts/make_exercise.sh" --print "$lesson" >"$work/stub"
  for exercise in "$tree/$name"/exercise.*; do
    cmp -s "$work/stub" "$exercise" || fail "$exercise is not as new"
  done
done

PATH=$(dirname "$cmake"):$PATH
expect 0 sh scripts/configure.sh all -DCMAKE_BUILD_TYPE=Debug -DPOLICYGRAD_PRECOMPILE=OFF \
  -DCMAKE_CXX_COMPILER="$(cache CMAKE_CXX_COMPILER)"
for lesson in "$source"/lessons/[0-9]*; do
  number=$(basename "$lesson" | sed 's/^0*\([0-9]*[a-z]*\)_.*/\1/')
  for target in "lesson$number" "lesson${number}_stub"; do
    grep -q "/$target\.dir" "$tree/all/CMakeFiles/TargetDirectories.txt" || fail "CMake makes no target $target"
  done
done
rm -rf "$tree/all"

cp "$source/lessons/kit/test/mini/CMakeLists.txt" "$tree"
expect 0 sh scripts/configure.sh build -DKIT_SOURCE="$source" -DKIT_BUILD="$build" -DCMAKE_BUILD_TYPE=Debug \
  -DCMAKE_CXX_COMPILER="$(cache CMAKE_CXX_COMPILER)" -DPOLICYGRAD_SANITIZE="$(cache POLICYGRAD_SANITIZE)"
expect 0 sh scripts/build.sh build 2 lesson1
expect 2 build/lesson1 check
says '0 ok, 0 wrong, 4 to do'
expect 0 build/lesson1 solution 01.1
[ "$(wc -l <"$out")" -le 2 ] || fail 'solution prints more than a sentence'
says 'This is a handout, which has no solutions'
exercise="$tree/lessons/01_tensors/exercise.cpp"
echo '// an edit' >>"$exercise"
expect 0 build/lesson1 reset
cmp -s "$exercise" "$tree/lessons/01_tensors/exercise.stub" || fail 'reset does not give the exercise'
expect 2 build/lesson1 check
expect 77 sh scripts/make_exercise.sh --verify lessons/01_tensors

# A handout is not written over what is there.
before=$(ls -A "$tree")
expect 1 sh scripts/handout.sh "$tree"
says 'is not empty'
[ "$(ls -A "$tree")" = "$before" ] || fail 'a folder with files was changed'
expect 1 sh scripts/handout.sh
says 'make handout DIR='
echo 'a handout has the course and none of its answers'
