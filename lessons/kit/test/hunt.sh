#!/bin/sh
# hunt.sh SOURCE MUTANTS WITHOUT: what ./lessonN hunt does on a terminal and without one, with right and wrong answers,
# garbage, the end of the input, a damaged record, and in a handout. MUTANTS is the program lessonN_mutants of a lesson
# that has a hunt, WITHOUT that of one that has none. The record is that of a folder of its own.
set -eu
source=$1
mutants=$2
without=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
out=$work/out
record=$work/.progress.json
ln -s "$source/lessons" "$work/lessons"
export POLICYGRAD_LESSONS_ROOT="$work"

fail() {
  echo "FAILED: $1"
  tail -n 30 "$out"
  exit 1
}
expect() { # expect STATUS COMMAND...
  want=$1
  shift
  got=0
  "$@" >"$out" 2>&1 </dev/null || got=$?
  [ "$got" = "$want" ] || fail "$* ends with status $got, expected $want"
}
says() { grep -q -e "$1" "$out" || fail "these words are missing: $1"; }
silent() { if grep -q -e "$1" "$out"; then fail "these words should not be there: $1"; fi; }
scored() { # scored ANSWERED RIGHT STREAK BEST
  got=$(tr -d ' \n' <"$record" | sed 's/.*"hunt":{"answered":\([0-9]*\),"best":\([0-9]*\),"right":\([0-9]*\),"streak":\([0-9]*\)}.*/\1 \3 \4 \2/')
  [ "$got" = "$*" ] || fail "the record has the score $got, expected $*"
}
truth() { "$mutants" hunt --seed "$1" --json --answer a | sed 's/.*"truth":"\([a-e]\)".*/\1/'; }
other() { [ "$1" = a ] && echo b || echo a; }

for seed in -1 0 x 1000001; do expect 64 "$mutants" hunt --seed $seed; done

# Without a terminal and without --answer the question is all, and nothing is counted. --json prints one object.
expect 0 "$mutants" hunt --seed 3
says 'Which mistake is it?'
says '^  e  '
says 'No answer, so nothing is counted'
silent '  cause  '
expect 0 "$mutants" hunt --seed 3 --json
[ "$(wc -l <"$out")" = 1 ] || fail '--json prints more than one line'
says '^{"lesson":.*"seed":3,"observations":\[.*"type":"plot".*"low":\[.*"choices":\[{"letter":"a",'
silent 'verdict'
cp "$out" "$work/first"
expect 0 "$mutants" hunt --seed 3 --json
cmp -s "$out" "$work/first" || fail 'a seed does not give the same question twice'
right=$(truth 3)
expect 0 "$mutants" hunt --seed 3 --json --answer "$(other "$right")"
says '"verdict":{"right":false,'
[ ! -e "$record" ] || fail '--json recorded something'

# Answers are counted, and a wrong one ends the streak. Without --seed the next question is asked.
expect 0 "$mutants" hunt --seed 3 --answer "$right"
says 'Right\.'
says '1 of 1 found, 1 in a row, at most 1'
says 'would have found it'
scored 1 1 1 1
expect 0 "$mutants" hunt --json
says '"seed":2,'
expect 0 "$mutants" hunt --answer "$(truth 2)"
scored 2 2 2 2
expect 0 "$mutants" hunt --seed 3 --answer "$(other "$right")"
says "No: it is $right\."
scored 3 2 0 2
expect 0 "$mutants" hunt --list
says 'change what its training'
says '2 of 3 found, 0 in a row, at most 2'

# On a terminal: garbage is asked again, and the end of the input counts nothing.
if script --version 2>/dev/null | grep -q util-linux; then
  on_terminal() { # on_terminal TYPED
    printf '%b' "$1" | script -qec "'$mutants' hunt --seed 3" /dev/null >"$out" 2>&1 || fail 'hunt fails on a terminal'
  }
  on_terminal "z\n\nhunt me\n$right\n"
  says '"z" is no letter from a to e'
  says '"hunt me" is no letter from a to e'
  says 'Right\.'
  scored 4 3 1 2
  on_terminal '7\n\004'
  says '"7" is no letter'
  says 'No answer, so nothing is counted'
  scored 4 3 1 2
fi

# A record that is damaged is named before anything is asked, and stays.
echo '{"lessons": {"6": [' >"$record"
cp "$record" "$work/damaged"
for options in '--seed 3 --answer a' '--list' ''; do
  # shellcheck disable=SC2086  # several words
  expect 64 "$mutants" hunt $options
  says 'not a record of this course'
  silent 'Which mistake'
done
cmp -s "$record" "$work/damaged" || fail 'a damaged record was overwritten'
rm "$record"

expect 64 "$mutants" hunt --seed 0
expect 64 "$mutants" hunt --seed x
expect 64 "$mutants" hunt --answer f
expect 64 "$without" hunt
says 'has no hunt: there is no lessons/'

# In a handout hunt is one sentence.
rm "$work/lessons"
mkdir "$work/lessons"
for lesson in "$source"/lessons/[0-9]*; do
  mkdir "$work/lessons/${lesson##*/}"
  echo >"$work/lessons/${lesson##*/}/exercise.stub"
done
expect 0 "$mutants" hunt
says 'This is a handout'
[ "$(wc -l <"$out")" -le 2 ] || fail 'in a handout hunt prints more than a sentence'
echo 'hunt asks, judges and keeps the score'
