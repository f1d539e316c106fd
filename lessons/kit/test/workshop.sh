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
  # shellcheck disable=SC2016  # the backquotes are those of Markdown
  [ "$(grep -c '^```cpp$' "$page")" = "$(grep -A1 '^}$' "$page" | grep -c '^```$')" ] || fail 'an answer lacks its last brace'
  sed -n '/\/\/ \[answer /,/\/\/ \[end\]/{/\/\/ \[/!p;}' "$work/all" | sort -u >"$work/lines"
  sort -u "$page" | comm -23 "$work/lines" - >"$work/missing"
  [ ! -s "$work/missing" ] || fail "the page lacks lines of answers: $(head -n 3 "$work/missing")"
  for names in transpose_copies:01.1 grid_no_block:11.1 rope_neighbours:13.1; do
    grep -q "^| ${names#*:} | \`${names%:*}\` | [^|]\{4,\} |\$" "$page" || fail "the page lacks the mistake $names"
  done
  rows=$(cat "$source"/lessons/[0-9]*/mutants*.c* "$source"/lessons/[0-9]*/mistakes*.c* | tr '\n' ' ' | tr -s ' ' | grep -oE '"[0-9]{2}\.[0-9]+", "' | wc -l)
  [ "$(grep -c '^| [0-9]' "$page")" = "$rows" ] || fail "the page does not have the $rows mistakes of the tables"
  expect 1 sh "$source/scripts/answers.sh"
  says 'make answers FILE='
  expect 1 sh "$source/scripts/answers.sh" "$work"
  says 'is a folder'
  mkdir "$work/theirs"
  echo mine >"$work/theirs/README.md"
  expect 1 sh "$source/scripts/mistakes.sh" build 1 "$work/theirs"
  says 'choose a new folder'
  [ "$(cat "$work/theirs/README.md")" = mine ] || fail 'a README.md of the folder was overwritten'
fi

for tool in sha256sum dpkg-deb; do
  command -v "$tool" >/dev/null || { echo "skipped: the bundle, which needs $tool"; exit 77; }
done

# The bundle: this apt-get makes a package of each name, and one more that has an epoch.
mkdir "$work/bin" "$work/data"
cat >"$work/bin/apt-get" <<'END'
#!/bin/sh
if [ "${NO_NETWORK:-}" ]; then
  echo 'E: Failed to fetch something' >&2
  exit 100
fi
for word; do
  case $word in Dir::Cache::archives=*) archives=${word#*=} ;; esac
done
make_package() { # make_package NAME VERSION FILE
  mkdir -p "$archives/made/DEBIAN"
  printf 'Package: %s\nVersion: %s\nArchitecture: amd64\nMaintainer: a test\nDescription: a test\n' "$1" "$2" \
    >"$archives/made/DEBIAN/control"
  dpkg-deb --build "$archives/made" "$archives/$3" >/dev/null
  rm -r "$archives/made"
}
for word; do
  case $word in install | -* | *=*) ;; *) make_package "$word" 1 "${word}_1_amd64.deb" ;; esac
done
make_package zlib1g 1:2 zlib1g_1%3a2_amd64.deb
END
chmod +x "$work/bin/apt-get"
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
[ "$(cat "$stick/packages.txt")" = "$packages" ] || fail 'packages.txt does not have the packages'
for name in $packages; do
  [ -e "$stick/packages/${name}_1_amd64.deb" ] || fail "the bundle lacks $name"
  grep -qxF "Filename: packages/${name}_1_amd64.deb" "$stick/Packages" || fail "the index lacks $name"
done
grep -qxF 'Filename: packages/zlib1g_2_amd64.deb' "$stick/Packages" || fail 'a file name keeps its epoch'
grep -qxF "SHA256: $(sha256sum <"$stick/packages/zlib1g_2_amd64.deb" | cut -d ' ' -f 1)" "$stick/Packages" ||
  fail 'the index does not have the checksum of zlib1g'
count=$(($(echo "$packages" | wc -w) + 1))
says "has $count packages and 1 data files."
[ "$(ls "$stick/data")" = tinyshakespeare.txt ] || fail 'the data files are not those of pg fetch'
[ "$(wc -l <"$stick/SHA256SUMS")" = "$((count + 4))" ] || fail 'SHA256SUMS does not have every file'
expect 0 verify
echo 'changed' >>"$stick/data/tinyshakespeare.txt"
expect 1 verify
if [ "$(id -u)" = 0 ]; then
  expect 1 sh "$stick/install.sh" # before it installs anything
  says 'install: the bundle is damaged: copy it again'
else
  expect 1 sh "$stick/install.sh"
  says 'type: sudo sh install.sh'
fi

expect 1 bundle sh "$source/scripts/bundle.sh" "$stick"
says 'is not empty'
expect 1 bundle env NO_NETWORK=1 sh "$source/scripts/bundle.sh" "$work/other"
says 'the packages could not be downloaded; without a network there is no bundle.'
[ "$(wc -l <"$out")" = 1 ] || fail 'without network it says more than a sentence'
[ -z "$(ls -A "$work/other")" ] || fail 'without network something is left behind'
expect 1 bundle sh "$source/scripts/bundle.sh"
says 'make bundle DIR='
echo 'the answers have a page, and laptops without network a bundle'
