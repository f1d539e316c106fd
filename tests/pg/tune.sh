#!/bin/sh
# pg tune: one step of the search measured, kept in a file, and used. Usage: tune.sh BUILD_FOLDER
. tests/pg/setup.sh
file() { echo "$work"/cache/policygrad/cpu-products-*.txt; }
train() { # train NAME: a run of the same numbers each time
  says 0 out 'pg sample' "$pg" train --data stories --layers 1 --heads 2 --width 64 --context 32 --batch 4 --steps 3 \
    --eval-batches 1 --name "$1"
}

says 1 err 'blocks, few columns, few rows, batches' "$pg" tune --only everything
says 1 err 'repeat' "$pg" tune --repeat 0
says 0 out 'the sizes of caches' "$pg" doctor
train before

if "$pg" tune --only 'few columns' --repeat 3 --dry-run >out 2>err; then
  grep -q '^few columns$' out || bad 'pg tune does not name the step'
  grep -qE '^  shared_rows [01] +[0-9.]+' out || bad 'pg tune does not show what it measured'
  [ ! -e "$(file)" ] || bad '--dry-run keeps a file'
else
  bad 'pg tune --dry-run fails'
fi

if "$pg" tune --only 'few columns' --repeat 3 >out 2>err; then
  grep -qF "kept in $(file)" out || bad 'pg tune does not say where the file is'
  head -n 1 "$(file)" | grep -q '^# policygrad matrix products' || bad 'the file has no title'
  grep -qE '^shared_rows [01]$' "$(file)" || bad 'the file does not hold what was measured'
  [ "$(find "$work/cache" -type f | wc -l)" = 1 ] || bad 'pg tune leaves more than one file'
  says 0 out "$(file)" "$pg" doctor
  # The other setting of each choice gives the same bits.
  sed -e 's/shared_rows 0/shared_rows x/; s/shared_rows 1/shared_rows 0/; s/shared_rows x/shared_rows 1/' \
    -e 's/^block_depth .*/block_depth 2304/' -e 's/^prefetch_l1 .*/prefetch_l1 12288/' "$(file)" >changed
  cp changed "$(file)"
  says 0 out "$(file)" "$pg" doctor
  train after
  cmp -s "$(run before)/checkpoint.safetensors" "$(run after)/checkpoint.safetensors" || bad 'a setting changes bits'
  # A damaged file: one warning, and the work is done.
  echo 'block_depth 7' >>"$(file)"
  train damaged
  [ "$(grep -c "^warning: $(file) is ignored: 'block_depth 7' is none of the values" err)" = 1 ] ||
    bad 'a damaged file brings no warning'
  says 0 out 'the sizes of caches' "$pg" doctor
  says 0 out 'kept in' "$pg" tune --only 'few columns' --repeat 3
  says 0 out "$(file)" "$pg" doctor
else # a build for the debugger
  grep -q 'use --dry-run' err || bad 'pg tune fails'
fi

says 1 err 'set POLICYGRAD_CACHE' env -u HOME -u XDG_CACHE_HOME "$pg" tune
: >plain
says 1 err 'plain' env POLICYGRAD_CACHE="$work/plain/folder" "$pg" tune
exit $wrong
