#!/bin/sh
# Makes a lesson's exercise.cpp, or exercise.cu where it has one, from lessons/NN_name/answers.h: what is between
# "// [answer ID name]" and "// [end]" becomes TODO("ID name"). In a handout (scripts/handout.sh), which has no answers.h,
# it is a copy of exercise.stub.
#   scripts/make_exercise.sh lessons/01_tensors            writes the exercise
#   scripts/make_exercise.sh --print lessons/01_tensors    prints it
#   scripts/make_exercise.sh --verify lessons/01_tensors   exit 1 unless the exercise is what would be written; 77,
#                                                          skipped, when it was edited since the last commit, or in a handout
set -eu
mode="write"
case $1 in --print | --verify) mode=$1; shift ;; esac
answers=$1/answers.h
exercise=$1/exercise.cpp
[ ! -e "$1/exercise.cu" ] || exercise=$1/exercise.cu

cut_answers() {
  if [ ! -e "$answers" ] && [ -e "$1/exercise.stub" ]; then
    cat "$1/exercise.stub"
    return
  fi
  awk '
    match($0, /\/\/ \[answer [^]]*\]/) {
      print substr($0, 1, RSTART - 1) "// Yours, in place of the next line."
      print substr($0, 1, RSTART - 1) "TODO(\"" substr($0, RSTART + 11, RLENGTH - 12) "\");"
      skipping = 1
    }
    !skipping { print }
    /\/\/ \[end\]/ { skipping = 0 }
    END { if (skipping) { print "an answer has no [end]" > "/dev/stderr"; exit 1 } }' "$answers"
}

case $mode in
  --print) cut_answers "$1" ;;
  --verify)
    if [ ! -e "$answers" ]; then
      echo 'skipped: a handout has no answers.h'
      exit 77
    fi
    if ! cut_answers "$1" | cmp -s - "$exercise"; then
      if git cat-file -e "HEAD:$exercise" 2>/dev/null && ! git diff --quiet HEAD -- "$exercise"; then
        echo "skipped: $exercise has been edited"
        exit 77
      fi
      echo "$exercise is not what scripts/make_exercise.sh makes of $answers:"
      cut_answers "$1" | diff "$exercise" - || true
      exit 1
    fi ;;
  write)
    cut_answers "$1" >"$exercise.tmp"
    mv "$exercise.tmp" "$exercise" ;;
esac
