# Counts the test cases of a `bazel test`: reads its build event file (JSON, one event a line), and the reports that it
# names (GoogleTest writes its own, Bazel one for any other program). Prints "PASSED FAILED SKIPPED", then a line for each
# failure. A test that could not be built, or that failed and has no report of a failure, counts as one failure.
#
#   awk -f count_tests.awk [-v allowed_skips=FILE] EVENTS
#
# A program that is no GoogleTest is one test case; it was skipped where a line of its output begins with "SKIPPED: ",
# perhaps behind its own name ("ssh_test.sh: SKIPPED: ...").
#
# With `allowed_skips`, a test case that was skipped and is not in this file is a failure. The file has a name a line
# ("Suite.Case"; "Suite.*" for all of a suite; "//folder:test" for a program); "#" starts a comment.
function attribute(name) {
  return match($0, " " name "=\"[^\"]*\"") ? substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 4) : ""
}
function count_failure(what) {
  ++failed
  failures = failures "\n" what
}
function read_allowed(path,   line) {
  while ((getline line <path) > 0) {
    sub(/[ \t]*#.*/, "", line)
    if (line != "") allowed[line] = 1
  }
  close(path)
}
# `all`: another name that stands for it in the file.
function count_skipped(name, all) {
  ++skipped
  if (allowed_skips == "" || name in allowed || all in allowed) return
  count_failure((name == report_label ? "" : report_label ": ") name ": skipped, and not listed in " allowed_skips)
}
function count_failed_case(name) {
  count_failure(report_label ": " name)
  explained[report_label] = 1
}
function read_report(path,   quoted, output, suite, name, counted) {
  quoted = output = 0
  while ((getline <path) > 0) {
    if (/<system-out>/) output = 1  # Bazel's own report of a program that writes none
    # GoogleTest writes a line for each failure of a test case.
    if (!quoted && !counted && /^ *<failure /) {
      count_failed_case(name)
      counted = 1
    }
    if (/<!\[CDATA\[/) quoted = 1  # output, or a failure message: anything may stand in it
    if (quoted) {
      if (output && /^([a-z_]+\.(sh|py): )?SKIPPED: /) {
        output = 0
        --passed
        count_skipped(report_label, report_label)
      }
      if (/\]\]>/) quoted = 0
      continue
    }
    if (/^ *<testcase /) {
      suite = attribute("classname")
      name = (suite == "" ? "" : suite ".") attribute("name")
      counted = 0
      if (/(result="skipped"|status="notrun")/) count_skipped(name, suite ".*")
      if (/><error /) count_failed_case(name)  # Bazel's own report
    }
    if (!/^ *<testsuite /) continue
    passed += attribute("tests") - attribute("failures") - attribute("errors") - attribute("skipped") - attribute("disabled")
  }
  close(path)
}
function label() { match($0, /"label":"[^"]*"/); return substr($0, RSTART + 9, RLENGTH - 10) }

BEGIN {
  passed = failed = skipped = 0
  if (allowed_skips != "") read_allowed(allowed_skips)
}
/^{"id":{"targetConfigured"/ && /"targetKind":"[a-z_]*_test rule"/ { is_test[label()] = 1 }
/^{"id":{"targetCompleted"/ && !/"success":true/ && is_test[label()] { count_failure(label() ": not built") }
/^{"id":{"testResult"/ {
  event = $0
  report_label = label()
  if (match(event, /"name":"test.xml","uri":"file:\/\/[^"]*"/)) read_report(substr(event, RSTART + 32, RLENGTH - 33))
  $0 = event
}
/^{"id":{"testSummary"/ && !/"overallStatus":"(PASSED|FLAKY)"/ && !explained[label()] { count_failure(label()) }
END { print passed, failed, skipped failures }
