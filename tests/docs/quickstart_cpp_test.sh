#!/bin/sh
# The quick start in C++ is one file of at most 80 lines, which shows its page and its models.
#
#   tests/docs/quickstart_cpp_test.sh PROGRAM SOURCE
set -eu

fail() {
  echo "quickstart_cpp_test: $*" >&2
  exit 1
}

lines=$(wc -l <"$2")
[ "$lines" -le 80 ] || fail "$2 has $lines lines"

mkfifo "$TEST_TMPDIR/output"
HOME=$TEST_TMPDIR "$1" >"$TEST_TMPDIR/output" &
program=$!
trap 'kill "$program" 2>/dev/null || true; wait "$program" || true' EXIT
page=""
model=""
while [ -z "$model" ] && read -r line; do
  case "$line" in
    "page: "*) page=${line#page: } ;;
    "model "*) model=$line ;;
  esac
  # While the program waits for its next model.
  if [ -n "$model" ]; then
    [ -n "$page" ] || fail "a model came before the link of the page"
    /usr/bin/python3 -c 'import sys, urllib.request
assert b"<html" in urllib.request.urlopen(sys.argv[1], timeout=60).read().lower()' "$page" || fail "nothing is at $page"
  fi
done <"$TEST_TMPDIR/output"
case "$model" in
  "model "[0-9]*": "[01]*) ;;
  *) fail "the first model is '$model'" ;;
esac
