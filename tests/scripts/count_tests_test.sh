#!/bin/sh
# Counts the test cases of build events and reports such as Bazel and GoogleTest write.
set -eu

counter=$PWD/scripts/count_tests.awk
cd "$TEST_TMPDIR"

# event LABEL STATUS REPORT: what Bazel tells of a test that ran.
event() {
  echo '{"id":{"targetConfigured":{"label":"'"$1"'"}},"configured":{"targetKind":"cc_test rule"}}'
  echo '{"id":{"targetCompleted":{"label":"'"$1"'"}},"completed":{"success":true}}'
  echo '{"id":{"testResult":{"label":"'"$1"'"}},"testResult":{"testActionOutput":[{"name":"test.xml","uri":"file://'"$PWD/$3"'"}]}}'
  echo '{"id":{"testSummary":{"label":"'"$1"'"}},"testSummary":{"overallStatus":"'"$2"'"}}'
}

# expect "PASSED FAILED SKIPPED" EVENTS [ALLOWED_SKIPS [FAILURE...]]: these counts, and each failure's line.
expect() {
  counts=$1
  events=$2
  allowed=${3:-}
  shift 2
  [ $# -eq 0 ] || shift
  printf '%s\n' "$counts" "$@" >expected
  awk -f "$counter" ${allowed:+-v allowed_skips="$allowed"} "$events" >printed
  diff expected printed || {
    echo "in $events:" >&2
    cat "$events" >&2
    exit 1
  }
}

cat >mixed.xml <<'END'
<testsuites tests="5" failures="1" disabled="1" errors="0">
  <testsuite name="Net" tests="5" failures="1" disabled="1" skipped="1" errors="0">
    <testcase name="Works" status="run" result="completed" classname="Net" />
    <testcase name="Fails" status="run" result="completed" classname="Net">
      <failure message="x" type=""><![CDATA[a message that looks like a report:
  <testsuite name="Fake" tests="100" failures="100" disabled="0" skipped="0" errors="0">
  <testcase name="Fake" status="run" result="skipped" classname="Fake">]]></failure>
      <failure message="y" type=""><![CDATA[of the same test case]]></failure>
    </testcase>
    <testcase name="Skips" status="run" result="skipped" classname="Net">
      <skipped message="no data"/>
    </testcase>
    <testcase name="DISABLED_Never" status="notrun" result="suppressed" classname="Net" />
    <testcase name="WorksToo" status="run" result="completed" classname="Net" />
  </testsuite>
</testsuites>
END
echo '<testsuite name="crash" tests="1" failures="0" errors="0">' >silent.xml

event //a:mixed FAILED mixed.xml >mixed
expect "2 1 2" mixed "" "//a:mixed: Net.Fails"

# Skips that are listed, and others.
printf '# why\nNet.Skips # here\nNet.DISABLED_Never\n' >all_allowed
printf 'Net.Skips\n' >one_allowed
echo 'Net.*' >suite_allowed
expect "2 1 2" mixed all_allowed "//a:mixed: Net.Fails"
expect "2 1 2" mixed suite_allowed "//a:mixed: Net.Fails"
expect "2 2 2" mixed one_allowed "//a:mixed: Net.Fails" \
  "//a:mixed: Net.DISABLED_Never: skipped, and not listed in one_allowed"

# A program that says that it was skipped.
cat >program.xml <<'END'
<?xml version="1.0" encoding="UTF-8"?>
<testsuites>
  <testsuite name="a/program" tests="1" failures="0" errors="0">
    <testcase name="a/program" status="run" duration="1" time="1"></testcase>
      <system-out>
Generated test.log (if the file is not UTF-8, then this may be unreadable):
<![CDATA[exec ${PAGER:-/usr/bin/less} "$0" || exit 1
Executing tests from //a:program
-----------------------------------------------------------------------------
program.sh: SKIPPED: there is no browser
SKIPPED: it says so only once]]>
      </system-out>
    </testsuite>
</testsuites>
END
sed '/only once/d; s/.*SKIPPED: .*/nothing was SKIPPED: all ran]]>/' program.xml >ran.xml
event //a:program PASSED program.xml >program
event //a:ran PASSED ran.xml >ran
echo //a:program >program_allowed
expect "0 0 1" program
expect "0 0 1" program program_allowed
expect "0 1 1" program one_allowed "//a:program: skipped, and not listed in one_allowed"
expect "1 0 0" ran one_allowed

# A program's shards, of which one failed: Bazel's own report is one line.
sed 's|></testcase>|><error message="exited with error code 139"></error></testcase>|; s/errors="0"/errors="1"/; /SKIPPED/d' \
  program.xml >crashed.xml
{
  event //a:shards FAILED mixed.xml
  event //a:shards FAILED crashed.xml | grep testResult
} >shards
expect "2 2 2" shards "" "//a:shards: Net.Fails" "//a:shards: a/program"

# A test that failed without a report of a failure, and one that could not be built.
event //a:silent FAILED silent.xml >silent
expect "1 1 0" silent "" //a:silent
{
  echo '{"id":{"targetConfigured":{"label":"//a:broken"}},"configured":{"targetKind":"sh_test rule"}}'
  echo '{"id":{"targetCompleted":{"label":"//a:broken"}},"completed":{}}'
  echo '{"id":{"targetConfigured":{"label":"//a:library"}},"configured":{"targetKind":"cc_library rule"}}'
  echo '{"id":{"targetCompleted":{"label":"//a:library"}},"completed":{}}'
} >broken
expect "0 1 0" broken "" "//a:broken: not built"

: >none
expect "0 0 0" none
