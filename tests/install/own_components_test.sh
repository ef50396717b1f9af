#!/bin/sh
# Searches with the program of own_components/components.cc, which has a component of each kind: the registrations are
# in the program, whoever linked it, and each component does its work.
#
#   tests/install/own_components_test.sh PROGRAM
set -eu

fail() {
  echo "own_components_test: $*" >&2
  exit 1
}

program=$(realpath "$1")
configurations=$(dirname "$0")/own_components
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# search NAME: runs NAME.textproto; its document is in $work/NAME.
search() {
  "$program" --state-dir "$work/state" --json run "$configurations/$1.textproto" >"$work/$1" ||
    fail "$1.textproto: $(cat "$work/$1")"
}
# number NAME KEY: of the document, the first one of this key.
number() {
  sed -n 's/^ *"'"$2"'": *\([0-9]*\).*/\1/p' "$work/$1" | head -n 1
}

search direct
# The strategy proposed the last of three models first, and the stopper stopped that one.
[ "$(number direct stopped_early) $(number direct succeeded)" = "1 2" ] || fail "not one of three was stopped: $(cat "$work/direct")"
"$program" --state-dir "$work/state" --json trials latest >"$work/trials"
[ "$(number trials width)" = 16 ] || fail "the first model is not the last of the space: $(cat "$work/trials")"

search graph
# 2 x 3 weights and 3 biases, with either activation.
[ "$(number graph succeeded) $(number graph default)" = "2 9" ] || fail "not two graphs of 9 weights: $(cat "$work/graph")"
"$program" --state-dir "$work/state" --json trials latest >"$work/trials"
[ "$(grep -c '"node": "own"' "$work/trials")" = 2 ] || fail "not both ran on the own node: $(cat "$work/trials")"
