#!/bin/sh
# pg when one call of the system fails: the n-th write, sync, rename, open, mmap or allocation of a command, for n = 1,
# 2, 3 … (tests/pg/faults/shim.cpp). The command must end with 0, or with 1 and one sentence, and never by a signal. What
# it had written before must be right, nothing may be half-written, and the same command (or --resume) must then give
# the bytes of one that nothing disturbed, and leave no temporary file.
# Usage: run.sh BUILD_FOLDER TRIALS [SCENARIO...]: at most TRIALS of each kind, spread evenly over n, from the root.
data=${POLICYGRAD_DATA:-}
. tests/pg/setup.sh
shim=$build/libfault_shim.so
trials=$2
shift 2
small='--layers 1 --heads 1 --width 8 --context 8 --batch 2 --eval-batches 1'
problems='--layers 1 --heads 1 --width 8 --length 2 --eval-problems 4'
skip() { echo "skipped: $1"; exit 77; }
[ -f "$shim" ] || skip 'pg_faults: the build has no tests/pg/faults/shim.cpp'
counted() { env LD_PRELOAD="$shim" FAULT_COUNTS="$work/counts" "$@"; }
counted "$pg" --version >out 2>err </dev/null
grep -qs '^alloc [1-9]' counts || skip 'pg_faults: this pg does not take a preloaded library'

# A scenario is what pg does in a folder that begins with a copy of `ready`, and what it shall leave there.
prepare() {
  mkdir ready && cd ready || exit 1
  printf 'the old king was in the garden. %.0s' $(seq 20) >text
  cp text other
  echo 'old report' >report.html
  # shellcheck disable=SC2086
  {
    "$pg" train --data text $small --steps 2 --eval-every 1 --name half --out half &&
      "$pg" sft --task copy $problems --batch 2 --steps 2 --name learned --out learned &&
      "$pg" tokenize train text --vocab-size 260 --out words.json
  } >../out 2>&1 </dev/null || { bad 'the files to begin with cannot be made'; exit 1; }
  mv half/* half_run && rm -r half && mv half_run half
  mv learned/* learned_run && rm -r learned && mv learned_run learned
  rm -f half/events* learned/events*
  cd ..
}
# shellcheck disable=SC2086
command_of() { # command_of SCENARIO: runs pg as $@ says before it
  case $1 in
  train) $call "$pg" train --data text $small --steps 4 --save-every 2 --eval-every 2 --out runs --threads 2 ;;
  ranks)
    $call "$pg" train --data text $small --steps 4 --save-every 2 --eval-every 2 --out runs --ranks 2 --zero 2 --threads 1
    ;;
  resume) $call "$pg" train --resume half --steps 4 --threads 2 ;;
  sft) $call "$pg" sft --task copy $problems --batch 2 --steps 4 --save-every 2 --out runs --threads 2 ;;
  rl) $call "$pg" rl --task copy $problems --prompts 2 --samples 2 --steps 2 --save-every 1 --out runs --threads 2 ;;
  eval) $call "$pg" eval learned --task copy --length 2 --problems 4 --out evaluation --threads 2 ;;
  export) $call "$pg" export half exported ;;
  report) $call "$pg" report half --out report.html ;;
  tokenize) $call "$pg" tokenize train text --vocab-size 270 --out tokenizer.json --threads 2 ;;
  pack) $call "$pg" tokenize pack text other --tokenizer words.json --out text.tokens --threads 2 ;;
  fetch) POLICYGRAD_CACHE=fetched $call "$pg" fetch tinyshakespeare.txt --from "$data/tinyshakespeare.txt" ;;
  esac
}
again() { # again SCENARIO: what its user does next
  call=
  case $1:$(echo runs/*/config.yaml) in
  train:runs/\** | ranks:runs/\** | sft:runs/\** | rl:runs/\**)
    rm -rf runs # nothing to go on from
    command_of "$1"
    ;;
  train:* | sft:* | rl:*) "$pg" "$1" --resume runs/* ;;
  ranks:*) "$pg" train --resume runs/* --ranks 2 --zero 2 ;;
  export:*) [ -e exported/config.json ] || command_of export ;; # it refuses a folder that holds a model
  *) command_of "$1" ;;
  esac
}
# What a scenario leaves, without clocks.
result() {
  case $1 in
  train | ranks | sft | rl) run=$(echo runs/*) ;;
  resume) run=half ;;
  eval) cat evaluation/results.jsonl evaluation/summary.md ;;
  export) cat exported/* ;;
  report) dateless report.html ;;
  tokenize) cat tokenizer.json ;;
  pack) cat text.tokens ;;
  fetch) cat fetched/* ;;
  esac
  case $1 in
  train | ranks | sft | rl | resume)
    cat "$run"/*.safetensors
    sed 's/"[a-z_\/]*\(_per_s\|second\|time\)[a-z_\/]*":[^,}]*//g' "$run"/*.jsonl
    ;;
  esac
}
# The files that a scenario writes whole, or not at all.
wholes() {
  case $1 in
  export) echo exported/model.safetensors exported/config.json ;;
  report) echo report.html ;;
  tokenize) echo tokenizer.json ;;
  pack) echo text.tokens ;;
  esac
}
# A report says when it was made.
dateless() { sed 's/20[0-9][0-9]-[0-9][0-9]-[0-9][0-9] [0-9][0-9]:[0-9][0-9]/DATE/g' "$1"; }
same() { [ -e "$1" ] && [ "$(dateless "$1" | cksum)" = "$(dateless "$2" | cksum)" ]; }
# A report says in it which files of a run cannot be read.
whole_page() { [ "$1" = report.html ] && tail -c 10 "$1" | grep -q '</html>'; }
failed() { cd ..; bad "$name: $1"; cd state || exit 1; }
trial() { # trial SCENARIO KIND N
  name="$1, $2 $3"
  rm -rf state && cp -r ready state && cd state || exit 1
  call="env LD_PRELOAD=$shim FAULT=$2:$3 timeout 60"
  command_of "$1" >../out 2>../err </dev/null
  got=$?
  done=$((done + 1))
  case $got in
  0) ;;
  1)
    case $1:$(grep -c '^pg\( fetch\)\?: ' ../err) in
    *:1 | ranks:2) ;; # the other rank may say that this one has ended
    *) failed 'not one sentence' ;;
    esac
    ;;
  *) failed "it ends with status $got" ;;
  esac
  for file in $(wholes "$1"); do
    same "$file" "../whole/$1/$file" || cmp -s "$file" "../ready/$file" || [ ! -e "$file" ] || whole_page "$file" ||
      failed "$file is half-written"
  done
  for run in runs/* half; do
    case $1:$run in
    train:runs/* | ranks:runs/* | sft:runs/* | rl:runs/* | resume:half)
      [ ! -e "$run/checkpoint.safetensors" ] || "$pg" info "$run" --verify >../out 2>../err || failed "$run is damaged"
      ;;
    esac
  done
  again "$1" >../out 2>../err </dev/null || failed 'it cannot be done again'
  result "$1" >../got 2>&1
  left=$(find . -name '*.tmp' -o -name '*.part' -o -name '*.lock' -o -name 'unfinished*')
  cd ..
  cmp -s "want.$1" got || bad "$name: what is done again has other bytes"
  [ -z "$left" ] || bad "$name: it leaves $left"
}

done=0
prepare
[ $# -gt 0 ] || set -- train ranks resume sft rl eval export report tokenize pack fetch
for scenario in "$@"; do
  if [ "$scenario" = fetch ] && [ ! -f "$data/tinyshakespeare.txt" ]; then
    echo 'pg_faults: without POLICYGRAD_DATA the scenario fetch is left out'
    continue
  fi
  rm -rf state counts && cp -r ready state && cd state || exit 1
  call=counted
  command_of "$scenario" >../out 2>../err </dev/null || { cd ..; bad "$scenario fails without a fault"; exit 1; }
  result "$scenario" >"../want.$scenario" 2>&1
  cd ..
  mkdir -p whole && rm -rf "whole/$scenario" && mv state "whole/$scenario"
  cp counts "counts.$scenario"
  while read -r kind count; do
    tried=$((count < trials ? count : trials))
    i=0
    while [ $i -lt $tried ]; do
      n=$((1 + (2 * i + 1) * count / (2 * tried)))
      trial "$scenario" "$kind" $n
      [ "$kind" != write ] || trial "$scenario" write $n+ # a disk that is full stays full
      i=$((i + 1))
    done
  done <"counts.$scenario"
done
echo "$done faults"
exit $wrong
