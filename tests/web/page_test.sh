#!/bin/sh
# Runs a test in Python of this folder: $1. $2 is the program; $3 is make_journals, where the test needs it.
set -eu
absolute() { echo "$(cd "$(dirname "$1")" && pwd)/$(basename "$1")"; }
LANISTA="$(absolute "$2")"
export LANISTA
if [ $# -gt 2 ]; then
  LANISTA_JOURNALS="$(absolute "$3")"
  export LANISTA_JOURNALS
fi
exec python3 "$(dirname "$0")/$1"
