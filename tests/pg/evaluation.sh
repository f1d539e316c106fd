#!/bin/sh
# pg eval --task: its options, its results folder, and what continues there. Usage: evaluation.sh BUILD_FOLDER
. tests/pg/setup.sh
# refuses TEXT OPTIONS…: pg eval says one sentence with this text and writes no folder
refuses() {
  text=$1
  shift
  says 1 err "$text" "$pg" eval "$@"
  [ "$(wc -l <err)" = 1 ] || bad "'pg eval $*' does not say one sentence"
  if [ -s out ]; then bad "'pg eval $*' prints a result"; fi
  if [ -e none ]; then bad "'pg eval $*' makes a folder"; rm -r none; fi
}
sft() { # sft NAME STEPS
  "$pg" sft --task sort --length 3 --layers 1 --heads 2 --width 16 --batch 32 --warmup 0 --steps "$2" --name "$1" \
    >out 2>err || bad "pg sft $1"
}
sft a 150
sft b 300
a=$(echo runs/*_a) b=$(echo runs/*_b)
sort="--task sort --length 3"
printf 'a text\n' >text
# evaluate OPTIONS…: of the model a on 40 problems, quietly
# shellcheck disable=SC2086
evaluate() { "$pg" eval "$a" $sort --problems 40 "$@" >out 2>err || bad "pg eval $*"; }

# A text or a task, and no options of the other.
refuses 'it got both' "$a" text --task sort
refuses '--samples needs --task' "$a" text --samples 3
refuses '--length needs --task' "$a" text --length 3
refuses '--against needs --task' "$a" text --against "$b"
refuses '--draws is for the text' "$a" --task sort --draws 2 --out none
refuses 'did you mean sort' "$a" --task sorts --out none
refuses 'the task sort has no option --digits' "$a" --task sort --digits 2 --out none
# Without --task the task and its options are those of the run. The command line wins.
evaluate --json
cp out given
"$pg" eval "$a" --problems 40 --json >out 2>err || bad 'pg eval RUN fails'
cmp out given || bad 'pg eval RUN differs from pg eval RUN with the options of the run'
"$pg" eval "$a" --task sort --problems 40 --json >out 2>err || bad 'pg eval RUN --task fails'
cmp out given || bad 'pg eval RUN --task differs from pg eval RUN with the options of the run'
says 0 out 'up to 2 digits' "$pg" eval "$a" --length 2 --problems 10
refuses 'are these the options of the task' "$a" --task reverse
# Numbers that cannot be.
# shellcheck disable=SC2086
{
  refuses '--k 8 needs at least that many --samples; there are 4' "$a" $sort --samples 4 --k 1,8 --out none
  for k in 1,x 0 1,,2 '1,' ' 1' -1; do refuses 'expected whole numbers' "$a" $sort --samples 4 "--k=$k" --out none; done
  refuses '--greedy with --samples 2' "$a" $sort --greedy --samples 2 --out none
  refuses '--greedy has no --temperature' "$a" $sort --greedy --temperature 0.5 --out none
  refuses 'above 0' "$a" $sort --temperature 0 --out none
  refuses 'from 1 to 100000, got 0' "$a" $sort --problems 0 --out none
  refuses '--adapter is for one model' "$a" $sort --adapter text --against "$b" --out none
  refuses 'gone' gone $sort --out none
  refuses 'gone' "$a" $sort --against gone --out none
  refuses 'cannot make' "$a" $sort --out text/none
}
refuses 'its vocabulary is not that of the task arithmetic' "$a" --task arithmetic --out none
refuses 'are these the options of the task' "$a" --task sort --length 6 --out none

# A table, whose share is that of the lines of results.
evaluate --samples 4 --k 1,2,4 --out four
for row in 'solved (pass@1)' pass@2 maj@4 reward length truncated answered; do
  grep -q "^$row  " out || bad "the table has no row $row"
done
[ "$(wc -l <four/results.jsonl)" = 160 ] || bad 'there are not 40 x 4 results'
[ "$(cut -d, -f2,3 four/results.jsonl | sort -u | wc -l)" = 160 ] || bad 'results of one sample are repeated'
share=$(awk '/"solved":true/ {n += 1} END {printf "%.1f", 100 * n / NR}' four/results.jsonl)
grep -q "^solved (pass@1)  *$share %" out || bad "the table does not have the $share % of its results"
grep -q "| solved (pass@1) | $share %" four/summary.md || bad "summary.md does not have the $share % of the results"
case $share in 0.0 | 100.0) bad "the model solves $share %: too simple for these tests" ;; esac
# pass@4 of 4 samples: the share of problems with a solved one.
any=$(awk -F, '/"solved":true/ {any[$2] = 1} END {n = 0; for (p in any) ++n; printf "%.1f", 100 * n / 40}' \
  four/results.jsonl)
grep -q "^pass@4  *$any %" out || bad "pass@4 is not $any %"
# --json is summary.json.
cp -r four again
evaluate --samples 4 --k 1,2,4 --out again --json
tr -d ' \n' <out >flat
tr -d ' \n' <four/summary.json >want
cmp -s flat want || bad '--json differs from summary.json'

# An evaluation that goes on has the bytes of one that was not interrupted, wherever its results end.
bytes=$(wc -c <four/results.jsonl) line=$(head -1 four/results.jsonl | wc -c)
for cut in 0 1 "$((line - 1))" "$line" "$((bytes / 3))" "$((bytes / 2))" "$((bytes - 1))"; do
  rm -r again
  mkdir again
  cp four/evaluation.json again
  head -c "$cut" four/results.jsonl >again/results.jsonl
  evaluate --samples 4 --k 1,2,4 --out again
  diff -r four again >out || bad "what goes on after $cut bytes is not the same"
done
rm -r again
# Neither do the responses depend on how many are sampled at a time, or on threads.
evaluate --samples 4 --k 1,2,4 --max-rows 1 --threads 1 --out again
diff -r four again >out || bad '--max-rows 1 changes results'
# Another --k needs no new responses.
evaluate --samples 4 --k 3 --out again
cmp -s four/results.jsonl again/results.jsonl || bad 'another --k changes responses'
grep -q '^pass@3 ' out || bad 'another --k is not in the table'

# What does not belong to the folder is refused, and leaves it as it is.
cp -r four before
# shellcheck disable=SC2086
{
  refuses 'it has samples 4, this command 2' "$a" $sort --problems 40 --samples 2 --out four
  refuses 'it has problems 40, this command 30' "$a" $sort --problems 30 --samples 4 --out four
  refuses 'it has seed 1, this command 2' "$a" $sort --problems 40 --samples 4 --seed 2 --out four
  refuses 'it has temperature 1.0, this command 0.5' "$a" $sort --problems 40 --samples 4 --temperature 0.5 --out four
  refuses 'it has task "sort", this command "reverse"' "$a" --task reverse --length 3 --problems 40 --samples 4 \
    --out four
  refuses 'it has a number of models of 1, this command 2' "$a" $sort --problems 40 --samples 4 --against "$b" \
    --out four
  refuses "other weights than those of $b (model 1)" "$b" $sort --problems 40 --samples 4 --out four
  refuses 'but no evaluation.json' "$a" $sort --out .
  diff -r four before >out || bad 'a refused evaluation changes the folder'
  sed -i '5s/"sample":0/"sample":3/' four/results.jsonl
  refuses 'line 5: expected problem 1, sample 0, got 1, 3' "$a" $sort --problems 40 --samples 4 --out four
  sed -i '5s/.*/{"model":0}/' four/results.jsonl
  refuses 'line 5: it is no result' "$a" $sort --problems 40 --samples 4 --out four
  sed -i '5s/.*/garbage/' four/results.jsonl
  refuses "line 5: expected a JSON object, got 'garbage'" "$a" $sort --problems 40 --samples 4 --out four
  cp before/results.jsonl four
  tail -1 before/results.jsonl >>four/results.jsonl
  refuses 'expected 160 lines, it has more' "$a" $sort --problems 40 --samples 4 --out four
  sed '1s/"question":"[^"]*"/"question":"other"/' before/results.jsonl >four/results.jsonl
  refuses "line 1 of its results.jsonl is about 'other'" "$a" $sort --problems 40 --samples 4 --out four
  echo '{' >four/evaluation.json
  refuses 'its evaluation.json is damaged' "$a" $sort --problems 40 --samples 4 --out four
  echo '{"models":3}' >four/evaluation.json
  refuses "lacks 'task'" "$a" $sort --problems 40 --samples 4 --out four
}
# The same weights in another place are the same model.
cp "$a/checkpoint.safetensors" moved.safetensors
# shellcheck disable=SC2086
"$pg" eval moved.safetensors $sort --problems 40 --samples 4 --k 1,2,4 --out before >out 2>err ||
  bad 'a moved model is refused'

# Models side by side: the same problems and seeds. A model beside itself does not differ.
evaluate --greedy --against "$b" --against "$a" --out three
grep -qF 'C - A: +0.0 points solved [+0.0, +0.0]; problems solved only by A 0, by C 0; McNemar p = 1' out ||
  bad 'a model differs from itself'
solved() { grep "^{\"model\":$1,.*\"solved\":true" three/results.jsonl | cut -d, -f2 | sort; }
solved 0 >in_a
solved 1 >in_b
only_a=$(comm -23 in_a in_b | wc -l) only_b=$(comm -13 in_a in_b | wc -l)
grep -qF "problems solved only by A $only_a, by B $only_b; McNemar" out ||
  bad 'the problems that only one of two models solves are counted wrong'
[ "$(wc -l <three/results.jsonl)" = 120 ] || bad 'there are not 3 x 40 results'
evaluate --greedy --out alone
head -40 three/results.jsonl | cmp -s - alone/results.jsonl || bad 'a model has other responses beside another'
if grep -q McNemar alone/summary.md; then bad 'one model is compared'; fi
evaluate --samples 2 --against "$b"
grep -q 'problems solved more often by A' out || bad 'two samples have no comparison'
if grep -q McNemar out; then bad "McNemar's test of shares"; fi

# --audit: the verdicts of the grader to look at, of the responses that are there. It needs a task that is graded.
refuses '--audit needs --task' "$a" text --audit
# shellcheck disable=SC2086
{
  refuses '--audit writes audit.jsonl into --out FOLDER' "$a" $sort --audit
  refuses 'verdicts of the grader of mathematics; the task sort does not use it' "$a" $sort --audit --out none
}
for seed in 1 2; do
  "$pg" sft --task math --hardest 1 --layers 1 --heads 2 --width 16 --batch 8 --steps 20 --eval-problems 5 --seed $seed \
    --name math$seed >out 2>err || bad 'pg sft --task math'
done
graded="$(echo runs/*_math1) --against $(echo runs/*_math2) --problems 12 --samples 2 --out audited"
# shellcheck disable=SC2086
"$pg" eval $graded >out 2>err || bad "pg eval $graded"
[ ! -e audited/audit.jsonl ] || bad 'an evaluation without --audit writes one'
# A right answer that was cut, one of the first model and one of the second, and an answer that cannot be read.
cut_answer() { # cut_answer FIRST LAST: in the first of these lines whose right answer is a number
  line=$(awk -v a="$1" -v b="$2" 'NR >= a && NR <= b && /"expected":"[0-9]+"/ {print NR; exit}' audited/results.jsonl)
  number=$(sed -n "${line}s/.*\"expected\":\"\([0-9]*\)\".*/\1/p" audited/results.jsonl)
  sed -i "${line}s/\"response\":\"\([^\"\\]\|\\.\)*\"/\"response\":\"it is $number\"/
          ${line}s/\"solved\":true/\"solved\":false/; ${line}s/\"finished\":true/\"finished\":false/" audited/results.jsonl
}
cut_answer 1 23
cut_answer 25 48
sed -i '24s/"response":"\([^"\\]\|\\.\)*"/"response":"(("/; 24s/"finished":false/"finished":true/' audited/results.jsonl
sed -i '24s/"solved":true/"solved":false/' audited/results.jsonl
cp -r audited before_audit
# shellcheck disable=SC2086
says 0 err 'verdicts to look at, of 48 responses' "$pg" eval $graded --audit --json
[ "$(wc -l <out)" = 1 ] || bad '--audit with --json prints more than an object'
grep -q "^audited/audit.jsonl: $(wc -l <audited/audit.jsonl) verdicts" err || bad '--audit counts other verdicts than it writes'
cmp -s before_audit/results.jsonl audited/results.jsonl || bad '--audit changes results'
grep -q '^{"model":0,.*"why":"outside","given":"[0-9]*".*"verdict":"yes".*"rule":".*"steps":.*"finished":false' \
  audited/audit.jsonl || bad 'the audit lacks an answer outside of the form'
grep -q '^{"model":1,.*"why":"outside"' audited/audit.jsonl || bad 'the audit lacks the second model'
grep -q '^{"model":0,"problem":11,"sample":1,"why":"unknown","given":"((".*"verdict":"unknown"' audited/audit.jsonl ||
  bad 'the audit lacks an unknown verdict'
# What goes on after a stop has the same audit, and an audit that was not written whole is removed.
mkdir audited_again
cp audited/evaluation.json audited_again
head -n 27 audited/results.jsonl >audited_again/results.jsonl
echo cut >audited_again/audit.jsonl.7-0.tmp
# shellcheck disable=SC2086
"$pg" eval ${graded%audited}audited_again --audit >out 2>err || bad 'an audited evaluation does not go on'
[ ! -e audited_again/audit.jsonl.7-0.tmp ] || bad 'a part of an audit is left'
[ "$(wc -l <audited_again/results.jsonl)" = 48 ] || bad 'an audited evaluation has not all results'
grep '^{"model":0' audited/audit.jsonl >want
grep '^{"model":0' audited_again/audit.jsonl | cmp -s - want || bad 'an evaluation that goes on has another audit'
# shellcheck disable=SC2086
"$pg" eval ${graded%audited}audited_again --audit --threads 1 --max-rows 1 >out 2>err || bad 'a second audit fails'
cp -r audited_again twice
# shellcheck disable=SC2086
"$pg" eval ${graded%audited}audited_again --audit >out 2>err || bad 'a third audit fails'
diff -r audited_again twice >out || bad 'an audit changes when it is written again'

# While one process evaluates, another is refused; Ctrl-C stops after whole problems.
long="$a $sort --samples 1000 --against $b --max-rows 1000 --k 1 --out long"
# shellcheck disable=SC2086
"$pg" eval $long >out1 2>err1 & pid=$!
until [ -s long/results.jsonl ] || ! kill -0 $pid 2>/dev/null; do sleep 0.02; done
# shellcheck disable=SC2086
refuses 'evaluation folder long: another process is evaluating into it' $long
kill -INT $pid
wait $pid
got=$?
[ $got = 130 ] || { cat out1 err1; bad "an interrupted evaluation ended with status $got"; }
grep -q 'the same command continues' err1 || bad 'an interrupted evaluation does not say how to go on'
[ ! -e long/summary.json ] || bad 'an interrupted evaluation has a summary'
# shellcheck disable=SC2086
{
  "$pg" eval $long >out1 2>err1 & pid=$!
  sleep 0.3
  kill -KILL $pid
  wait $pid 2>/dev/null
  "$pg" eval $long >out 2>err || bad 'an evaluation that was killed does not go on'
  mv long whole
  "$pg" eval $long >out 2>err || bad 'a long evaluation fails'
}
diff -rq long whole >out || bad 'an evaluation that was killed has other results'
exit $wrong
