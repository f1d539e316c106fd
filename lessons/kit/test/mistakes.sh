#!/bin/sh
# mistakes.sh MUTANTS FOLDER: the page of a lesson's program MUTANTS has each row of the tables of mistakes in FOLDER, read
# as text by scripts/answers.sh, under its check and with its words, and no other.
set -eu
mutants=$1
folder=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sh scripts/answers.sh "$work/answers.md" >/dev/null
"$mutants" page >"$work/page.md"
# | check | `name` | words | of the answers' page, and the same columns of the page under test; marks of Markdown taken out.
plain() { sed 's/&lt;/</g; s/\\//g' | sort; }
awk -v title="#$(head -n 1 "$folder/README.md")" '/^## / { inside = $0 == title } inside && /^\| [0-9]/' \
  "$work/answers.md" | grep -v ' | ok |$' | plain >"$work/rows"
awk '/^## / { check = $2 } /^\| `/ { print "| " check " " $0 }' "$work/page.md" | plain >"$work/shown"
missing=0
while IFS= read -r row; do
  start=${row%% |\ *} # "| 06.1"
  rest=${row#*"| \`"}
  name=${rest%%"\`"*}
  words=${rest#*"\` | "}
  words=${words%" |"}
  grep -F "$start | \`$name\` |" "$work/shown" | grep -qF -e "$words" || { echo "missing: $row" && missing=1; }
done <"$work/rows"
[ "$missing" = 0 ]
[ "$(wc -l <"$work/rows")" -ge 10 ] || { echo "only $(wc -l <"$work/rows") rows were found"; exit 1; }
rows=$(wc -l <"$work/rows")
shown=$(wc -l <"$work/shown")
[ "$shown" = "$rows" ] || { echo "the page has $shown mistakes, the tables $rows"; exit 1; }
grep -q "^# Lesson .*: $shown mistakes$" "$work/page.md" || { echo 'the title has another number'; exit 1; }
echo "$shown mistakes, each with its check and its words"
