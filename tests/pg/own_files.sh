#!/bin/sh
# The user's files are the user's: thirty files of others lie in every folder that pg writes to, and every command leaves
# them as they are. Usage: own_files.sh BUILD_FOLDER
. tests/pg/setup.sh
# Names that look like those that pg writes, of each folder.
names='my_chats.jsonl right.jsonl metrics.jsonl.bak metrics.jsonl.tmp metrics.jsonl.old.tmp train_metrics.jsonl notes.tmp
  important.7-0.tmp .7-0.tmp checkpoint.tmp checkpoint-old.safetensors checkpoint-step1.safetensors.1-0.tmp
  best-of-all.safetensors config.yaml.orig config-mine.yaml events.out.tfevents.1700000000.host.1
  events.out.tfevents.1700000000.host.1.0 evaluation.json.bak summary.tex summary.draft.tmp audit.jsonl.old.tmp
  results.jsonl.bak model.safetensors.bak tokenizer.json.bak tokenizer-mine.json README.md report-2.html gemm.txt
  corpus.part corpus.lock'
plant() { # plant FOLDER: puts them there
  mkdir -p "$1"
  for file in $names; do printf '{"step": 99}\nof the user: %s' "$file" >"$1/$file"; done
  mkdir "$1/empty.tmp" "$1/folder.jsonl"
  printf 'a name with spaces' >"$1/of mine.tmp"
}
intact() { # intact FOLDER COMMAND: fails if one is gone or has changed
  changed=
  for file in $names; do
    printf '{"step": 99}\nof the user: %s' "$file" | cmp -s - "$1/$file" || changed="$changed $file"
  done
  for folder in empty.tmp folder.jsonl; do [ -d "$1/$folder" ] || changed="$changed $folder"; done
  [ "$(cat "$1/of mine.tmp")" = 'a name with spaces' ] || changed="$changed 'of mine.tmp'"
  [ -z "$changed" ] || bad "$2 changes in $1:$changed"
}
does() { # does FOLDER COMMAND…: the command succeeds and leaves FOLDER and the present one intact
  place=$1
  shift
  "$@" >out 2>err </dev/null || bad "'$*' fails"
  intact "$place" "$*"
  intact . "$*"
}

plant .
export POLICYGRAD_CACHE="$work/kept"
plant kept
plant runs
printf 'hello world, this is a text.\n%.0s' $(seq 40) >text
small='--layers 1 --heads 1 --width 8 --threads 1'
# shellcheck disable=SC2086  # options
{
  # A run is begun, stopped, and goes on beside files that came meanwhile.
  does runs "$pg" train --data text $small --context 8 --batch 2 --steps 4 --eval-every 2 --name text
  does runs "$pg" sft --task sort --length 3 $small --batch 2 --steps 4 --name sft
  does runs "$pg" rl --task sort --length 3 --init "$(run sft)" --prompts 2 --samples 2 --steps 4 --threads 1 --name rl
  does runs "$pg" env --environments 2 --rollout-steps 32 --minibatches 1 --epochs 1 --eval-episodes 0 --total-steps 128 --threads 1 --name env
  for name in text sft rl; do
    plant "$(run $name)"
    does "$(run $name)" "$pg" "$(case $name in text) echo train ;; *) echo $name ;; esac)" --resume "$(run $name)" --steps 6
    does "$(run $name)" "$pg" report "$(run $name)"
  done
  plant "$(run env)"
  does "$(run env)" "$pg" env --resume "$(run env)"

  # An evaluation goes on; a new one does not begin among files of others.
  does runs "$pg" eval "$(run sft)" --task sort --length 3 --problems 3 --out evaluation
  plant evaluation
  does evaluation "$pg" eval "$(run sft)" --task sort --length 3 --problems 3 --out evaluation
  plant mine
  says 1 err 'it has files, but no evaluation.json' "$pg" eval "$(run sft)" --task sort --length 3 --problems 3 --out mine
  intact mine 'pg eval'

  # What is written under a name that is given.
  does runs "$pg" tokenize train text --vocab-size 260 --out tok.json
  does runs "$pg" tokenize pack text --tokenizer tok.json --out text.tokens
  printf '{"given":"1/2","gold":"0.5"}\n' >pairs.jsonl
  does runs "$pg" grade --pairs pairs.jsonl --audit verdicts.jsonl
  does kept "$pg" fetch --list
  plant exported
  does exported "$pg" export "$(run text)" exported
  does runs "$pg" reward-model --task sort --length 3 --init "$(run sft)" --pairs 20 --steps 2 --batch 2 --threads 1 --name reward
  does runs "$pg" dpo --task sort --length 3 --init "$(run sft)" --pairs 20 --steps 2 --batch 2 --threads 1 --name dpo
  does runs "$pg" expert-iteration --task sort --length 3 --init "$(run sft)" --iterations 1 --samples 2 \
    --threads 1 --name expert
}
exit $wrong
