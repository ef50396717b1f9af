#!/bin/sh
# Runs truth_test.py: $1 is the program, $2 is make_journals.
set -eu
absolute() { echo "$(cd "$(dirname "$1")" && pwd)/$(basename "$1")"; }
LANISTA="$(absolute "$1")"
LANISTA_JOURNALS="$(absolute "$2")"
export LANISTA LANISTA_JOURNALS
exec python3 "$(dirname "$0")/truth_test.py"
