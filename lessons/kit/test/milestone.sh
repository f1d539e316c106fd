#!/bin/sh
# A milestone on the answers holds its claims and says in three lines what was the learner's own; on exercises as a
# learner gets them it refuses with one sentence.
# Usage: milestone.sh NAME ON_THE_ANSWERS ON_THE_EXERCISES LESSONS [BESIDE]
set -u
name=$1 answers=$2 exercises=$3 lessons=$4 beside=${5:-}
wrong=0
bad() {
  echo "FAILED: $name: $*"
  wrong=1
}
out=$(mktemp)
trap 'rm -f "$out"' EXIT

"$answers" >"$out" 2>&1 || bad "on the answers it ends with status $?"
cat "$out"
grep -q 'claim holds' "$out" || bad 'it claims nothing'
if grep -q 'claim FAILS' "$out"; then bad 'a claim fails'; fi
for line in 'Yours: ' 'Most often: ' "The engine's: "; do
  [ "$(grep -c "^  $line.*\.\$" "$out")" = 1 ] || bad "it does not say '$line...' in one line"
done
for number in $lessons $beside; do
  grep "^  Yours: " "$out" | grep -q "[ ,]${number}[ ,]" ||
    bad "it does not say that pieces of lesson $number are yours"
done
awk "length > 80 { exit 1 }" "$out" || bad 'a line has more than 80 columns'

"$exercises" >"$out" 2>&1
[ $? = 3 ] || bad 'on the exercises it does not end with status 3'
cat "$out"
sentence=$(tr '\n' ' ' <"$out")
case $sentence in
"$name runs on your own pieces, and these are not ok yet: "*'. ') ;;
*) bad 'it does not refuse with the sentence' ;;
esac
for number in $lessons; do
  case $sentence in
  *"(./lesson$number check)"*) ;;
  *) bad "it does not name the check of lesson $number" ;;
  esac
done
exit $wrong
