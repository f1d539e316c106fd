#!/bin/sh
# workshop.sh SOURCE: the page of answers (scripts/answers.sh) has every answer and every mistake; the bundle for laptops
# without network (scripts/bundle.sh) has what apt-get, replaced by a program of this test, downloads.
set -eu
source=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
out=$work/out
fail() {
  echo "FAILED: $1"
  [ ! -e "$out" ] || tail -n 30 "$out"
  exit 1
}
expect() { # expect STATUS COMMAND...
  want=$1
  shift
  got=0
  "$@" >"$out" 2>&1 </dev/null || got=$?
  [ "$got" = "$want" ] || fail "$* ends with status $got, expected $want"
}
says() { grep -qF -e "$1" "$out" || fail "these words are missing: $1"; }

# The page: each line of each answer, each heading once, each row of the tables of mutants.
page="$work/the page.md"
if ls "$source"/lessons/[0-9]*/answers.h >/dev/null 2>&1; then
  expect 0 sh "$source/scripts/answers.sh" "$page"
  cat "$source"/lessons/[0-9]*/answers.h >"$work/all"
  sed -n 's|.*// \[answer \(.*\)\]|### \1|p' "$work/all" | sort >"$work/headings"
  [ "$(wc -l <"$work/headings")" -ge 70 ] || fail 'fewer than 70 answers were found'
  grep '^### ' "$page" | sort | cmp -s - "$work/headings" || fail 'the page does not have each answer once'
  sed -n '/\/\/ \[answer /,/\/\/ \[end\]/{/\/\/ \[/!p;}' "$work/all" | sort -u >"$work/lines"
  sort -u "$page" | comm -23 "$work/lines" - >"$work/missing"
  [ ! -s "$work/missing" ] || fail "the page lacks lines of answers: $(head -n 3 "$work/missing")"
  for names in transpose_copies:01.1 grid_no_block:11.1 rope_neighbours:13.1; do
    grep -q "^| ${names#*:} | \`${names%:*}\` | [^|]\{4,\} |\$" "$page" || fail "the page lacks the mistake $names"
  done
  rows=$(cat "$source"/lessons/[0-9]*/mutants*.c* | tr '\n' ' ' | tr -s ' ' | grep -oE '"[0-9]{2}\.[0-9]+", "' | wc -l)
  [ "$(grep -c '^| [0-9]' "$page")" = "$rows" ] || fail "the page does not have the $rows mistakes of the tables"
  expect 1 sh "$source/scripts/answers.sh"
  says 'make answers FILE='
  expect 1 sh "$source/scripts/answers.sh" "$work"
  says 'is a folder'
fi

command -v sha256sum >/dev/null || { echo 'skipped: the bundle, which needs sha256sum'; exit 77; }

# The bundle: this apt-get writes a file for each package, and this apt-cache adds one package and a virtual one.
mkdir "$work/bin" "$work/data"
cat >"$work/bin/apt-cache" <<'END'
#!/bin/sh
for word; do case $word in depends | -*) ;; *) printf '%s\n  Depends: libc6\n  Depends: <awk>\n' "$word" ;; esac; done
printf 'libc6\n<awk>\n    mawk\n'
END
cat >"$work/bin/apt-get" <<'END'
#!/bin/sh
if [ "${NO_NETWORK:-}" ]; then
  echo 'E: Failed to fetch something' >&2
  exit 100
fi
shift
for word; do echo "$word" >"${word}_1_amd64.deb"; done
END
chmod +x "$work/bin/apt-cache" "$work/bin/apt-get"
echo 'to be' >"$work/data/tinyshakespeare.txt"
echo 'private' >"$work/data/other.txt"
verify() { (cd "$stick" && sha256sum -c SHA256SUMS); }
bundle() { env PATH="$work/bin:$PATH" POLICYGRAD_DATA="$work/data" POLICYGRAD_CACHE="$work/none" "$@"; }

stick="$work/the stick"
expect 0 bundle sh "$source/scripts/bundle.sh" "$stick"
packages=$(sh "$source/scripts/setup.sh" --packages)
for name in g++ cmake libgmp-dev; do
  case " $packages " in *" $name "*) ;; *) fail "scripts/setup.sh --packages does not name $name" ;; esac
done
for name in $packages libc6; do
  [ -e "$stick/packages/${name}_1_amd64.deb" ] || fail "the bundle lacks $name"
done
count=$(($(echo "$packages" | wc -w) + 1))
says "has $count packages and 1 data files."
[ "$(ls "$stick/data")" = tinyshakespeare.txt ] || fail 'the data files are not those of pg fetch'
[ "$(wc -l <"$stick/SHA256SUMS")" = "$((count + 1))" ] || fail 'SHA256SUMS does not have every file'
expect 0 verify
echo 'changed' >>"$stick/data/tinyshakespeare.txt"
expect 1 verify

expect 1 bundle sh "$source/scripts/bundle.sh" "$stick"
says 'is not empty'
expect 1 bundle env NO_NETWORK=1 sh "$source/scripts/bundle.sh" "$work/other"
says 'the packages could not be downloaded; without a network there is no bundle.'
[ "$(wc -l <"$out")" = 1 ] || fail 'without network it says more than a sentence'
[ -z "$(ls -A "$work/other")" ] || fail 'without network something is left behind'
expect 1 bundle sh "$source/scripts/bundle.sh"
says 'make bundle DIR='
echo 'the answers have a page, and laptops without network a bundle'
