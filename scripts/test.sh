#!/bin/sh
# Installs what is missing, builds everything and runs all tests; the checks of the sources (format, which room includes
# which, documents, suites) count as one test each. The last lines name what failed and count test cases:
# "N passed, N failed".
#
#   scripts/test.sh [--ci]
#
# --ci also runs what is quick under AddressSanitizer and ThreadSanitizer, fuzzes what strangers write for a minute each
# (unless all before took so long that there is no time to build for it), and counts a skipped test case as a failure
# unless tests/allowed_skips.txt lists it.
#
# Tests that want real data look in LANISTA_TEST_DATA (it holds mnist/), by default in a folder shared/data beside the
# checkout, if there is one; without it they are skipped.
set -u
cd "$(dirname "$0")/.." || exit 1

started=$(date +%s)
ci=""
case "${1:-}" in
  "") ;;
  --ci) ci=1 ;;
  *)
    echo "usage: scripts/test.sh [--ci]" >&2
    exit 2
    ;;
esac

./scripts/install_deps.sh --tests || exit 1
if [ -z "${LANISTA_TEST_DATA:-}" ] && [ -d ../shared/data ]; then
  LANISTA_TEST_DATA=$(cd ../shared/data && pwd)
  export LANISTA_TEST_DATA
fi

passed=0
failed=0
skipped=0
events=$(mktemp)
counts=$(mktemp)
failures=$(mktemp)
findings=$(mktemp -d)
trap 'rm -rf "$events" "$counts" "$failures" "$findings"' EXIT

count_failure() {
  failed=$((failed + 1))
  echo "FAILED: $*" >>"$failures"
}

# Counts one test that is a command.
check() {
  if "$@"; then passed=$((passed + 1)); else count_failure "$@"; fi
}

# Runs `bazel test` with these arguments, and adds up its test cases.
run_tests() {
  : >"$events"
  status=0
  bazel test --keep_going --build_event_json_file="$events" "$@" || status=$?
  awk -f scripts/count_tests.awk ${ci:+-v allowed_skips=tests/allowed_skips.txt} "$events" >"$counts" || {
    count_failure "scripts/count_tests.awk"
    return
  }
  read -r cases_passed cases_failed cases_skipped <"$counts"
  passed=$((passed + cases_passed))
  failed=$((failed + cases_failed))
  skipped=$((skipped + cases_skipped))
  sed "1d; s|^|FAILED: |; s|\$| (bazel test $*)|" "$counts" >>"$failures"
  # Bazel has shown the whole logs, far above.
  sed -n '/"testResult"/{/"status":"\(FAILED\|TIMEOUT\)"/s|.*"uri":"file://\([^"]*/test\.log\)".*|\1|p}' "$events" |
    sort -u | while read -r log; do
      echo "The end of $log:"
      tail -n 40 "$log"
    done >>"$failures"
  # Something else than a test could not be built, or no test ran at all.
  if [ "$cases_failed" -eq 0 ] && { [ "$status" -ne 0 ] || [ $((cases_passed + cases_skipped)) -eq 0 ]; }; then
    count_failure "bazel test $*"
  fi
}

every_test_is_in_a_suite() {
  # Those that are tagged manual are run by name only.
  forgotten=$(bazel query --noshow_progress \
    'kind(".*_test rule", //... except attr(tags, manual, //...)) except tests(//tests:all)') || return 1
  [ -z "$forgotten" ] || {
    echo "tests/BUILD does not list the packages of these tests, or they lack suites():" "$forgotten" >&2
    return 1
  }
}

# An input that breaks a target is printed: nothing of a CI machine lives on.
fuzz() {
  LANISTA_FUZZ_DIR=$findings ./scripts/fuzz.sh 60 config framing graph node && return
  for input in "$findings"/*-crash-* "$findings"/*-timeout-* "$findings"/*-oom-*; do
    [ ! -f "$input" ] || { echo "test.sh: $(basename "$input") as base64:" && base64 "$input"; }
  done
  return 1
}

check ./scripts/check_rooms.sh
check ./scripts/check_format.sh
check ./scripts/check_docs.py
check every_test_is_in_a_suite
run_tests //...
if [ -n "$ci" ]; then
  run_tests --config=asan //tests:asan
  run_tests --config=tsan //tests/data:prefetch_test
  check ./scripts/tsan.sh --planted-race
  # From nothing this takes 9 minutes on two processors, and CI has 90 for all.
  if [ $(($(date +%s) - started)) -lt 3600 ]; then
    check fuzz
  else
    echo "test.sh: all this took more than an hour: nothing is fuzzed"
  fi
fi

cat "$failures"
printf '%s passed, %s failed' "$passed" "$failed"
[ "$skipped" -eq 0 ] || printf ', %s skipped' "$skipped"
echo
[ "$failed" -eq 0 ]
