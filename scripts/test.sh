#!/bin/sh
# Installs what is missing, builds everything and runs all tests (the rooms' include rules count as one). The last line
# counts test cases: "N passed, N failed".
#
# Tests that want real data look in LANISTA_TEST_DATA (it holds mnist/), by default in a folder shared/data beside the
# checkout, if there is one; without it they are skipped.
set -u
cd "$(dirname "$0")/.." || exit 1

./scripts/install_deps.sh --tests || exit 1
if [ -z "${LANISTA_TEST_DATA:-}" ] && [ -d ../shared/data ]; then
  LANISTA_TEST_DATA=$(cd ../shared/data && pwd)
  export LANISTA_TEST_DATA
fi

events=$(mktemp)
trap 'rm -f "$events"' EXIT
status=0
./scripts/check_rooms.sh || status=1
rooms=$status
bazel test --keep_going --build_event_json_file="$events" //... || status=$?

# The test cases of this run: the reports that Bazel names (GoogleTest writes its own, Bazel one for any other program),
# and a failure for each test that could not be built, or failed and has none to show.
awk -v rooms_failed="$rooms" -v status="$status" '
  function attribute(name) {
    return match($0, " " name "=\"[0-9]+\"") ? substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 4) : 0
  }
  function read_report(path) {
    quoted = 0
    while ((getline <path) > 0) {
      if (/<!\[CDATA\[/) quoted = 1  # a failure message: anything may stand there
      if (/\]\]>/) quoted = 0
      if (quoted || !/^ *<testsuite /) continue
      bad = attribute("failures") + attribute("errors")
      idle = attribute("skipped") + attribute("disabled")
      failed += bad
      skipped += idle
      passed += attribute("tests") - bad - idle
      failures += bad
    }
    close(path)
  }
  function label() { match($0, /"label":"[^"]*"/); return substr($0, RSTART + 9, RLENGTH - 10) }
  BEGIN { passed = !rooms_failed; failed = rooms_failed; skipped = 0 }
  /^{"id":{"targetConfigured"/ && /"targetKind":"[a-z_]*_test rule"/ { is_test[label()] = 1 }
  /^{"id":{"targetCompleted"/ && !/"success":true/ && is_test[label()] { ++failed }
  /^{"id":{"testResult"/ {
    failures = 0
    event = $0
    if (match(event, /"name":"test.xml","uri":"file:\/\/[^"]*"/)) read_report(substr(event, RSTART + 32, RLENGTH - 33))
    $0 = event
    explained[label()] += failures
  }
  /^{"id":{"testSummary"/ && !/"overallStatus":"(PASSED|FLAKY)"/ && !explained[label()] { ++failed }
  END {
    if (status != 0 && failed == 0) ++failed  # something else could not be built
    printf "%d passed, %d failed", passed, failed
    if (skipped) printf ", %d skipped", skipped
    print ""
    exit passed == !rooms_failed  # no test ran at all
  }' "$events" || [ "$status" -ne 0 ] || status=1
exit "$status"
