#!/bin/sh
# watch.sh N: rebuilds lesson N and runs its check whenever its exercise is saved. Ctrl-C ends it.
set -eu
lesson=${1:?which lesson? type: make watch LESSON=4}
exercise=$(find lessons -path "lessons/*${lesson}_*/exercise.c[pu]*" | grep -E "^lessons/0?${lesson}_[^/]*/exercise\.(cpp|cu)$") || {
  echo "There is no lesson $lesson."
  exit 1
}
seen=$(mktemp)
trap 'rm -f "$seen"' EXIT
while :; do
  touch "$seen"
  if [ -t 1 ]; then printf '\033[H\033[2J'; fi
  if make --no-print-directory "lesson$lesson"; then "./lesson$lesson" check || true; fi
  echo "Waiting for you to save $exercise (Ctrl-C ends)"
  while [ -z "$(find "$exercise" -newer "$seen" 2>/dev/null)" ]; do sleep 0.5; done
done
