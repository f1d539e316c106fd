#!/bin/sh
# A release of pg is hardened: bounds are checked in all that reads files, texts and networks (pg_hardened() in
# cmake/flags.cmake), and the tables of addresses are read-only. Usage: hardened.sh BUILD_FOLDER
set -u
build=${1:?usage: hardened.sh BUILD_FOLDER}
skip() {
  echo "skipped: pg_hardened: $1"
  exit 77
}
cached() { sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt"; }
command -v readelf >/dev/null || skip 'no readelf'
[ "$(cached CMAKE_BUILD_TYPE)" = Release ] || skip 'no release'
[ -z "$(cached POLICYGRAD_SANITIZE)" ] || skip 'a build with sanitizers'
readelf -h "$build/pg" >/dev/null 2>&1 || skip 'pg is no ELF program'

status=0
bad() {
  echo "pg_hardened: $1"
  status=1
}
symbols=$(readelf -Ws "$build/pg")
has() { echo "$symbols" | grep -q "UND $1"; }
has '__stack_chk_fail' || bad 'no array on the stack is guarded'
has '__[a-z]*_chk@' || bad 'no buffer of the C library is checked'
echo "$symbols" | grep -q '__glibcxx_assert_fail' || bad 'no container of the library is checked'
readelf -Wl "$build/pg" | grep -q GNU_RELRO || bad 'no table of addresses is read-only'
readelf -Wd "$build/pg" | grep -qE 'BIND_NOW|FLAGS_1.*NOW' || bad 'the tables of addresses are filled later, so they stay writable'
exit $status
