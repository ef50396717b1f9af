#!/bin/sh
# Builds the program of workspace/ with a Bazel of its own, searches with it, and checks what it says.
set -eu

fail() {
  echo "consumer_test: $*" >&2
  exit 1
}

# The checkout itself, not the links to it that a test sees: the workspace refers to Lanista as ../../...
workspace=$(dirname "$(realpath "$0")")/workspace
home=$(getent passwd "$(id -u)" | cut -d: -f6)
state=$TEST_TMPDIR/state

cd "$workspace"
bazel --batch --output_base="$TEST_TMPDIR/bazel" build --disk_cache="$home/.cache/lanista/bazel" --noshow_progress \
  --symlink_prefix=/ //:my_program
program=$(echo "$TEST_TMPDIR"/bazel/execroot/my_workspace/bazel-out/*/bin/my_program)

lanista() {
  echo "+ my_program $*" >&2
  "$program" --state-dir "$state" "$@"
}

lanista validate experiment.textproto >"$TEST_TMPDIR/space"
for label in width depth dropout; do
  grep -q "$label" "$TEST_TMPDIR/space" || fail "validate does not show the choice $label"
done

lanista --json run experiment.textproto >"$TEST_TMPDIR/run" || fail "run failed: $(cat "$TEST_TMPDIR/run")"
id=$(sed -n 's/^ *"id": *"\([^"]*\)".*/\1/p' "$TEST_TMPDIR/run" | head -n 1)
lanista --json trials "$id" >"$TEST_TMPDIR/trials"
succeeded=$(grep -c '"status": *"SUCCEEDED"' "$TEST_TMPDIR/trials") || true
[ "$succeeded" -eq 18 ] || fail "$succeeded of 18 models succeeded"
