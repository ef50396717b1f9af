#!/bin/sh
# Runs browser_test.py: $1 is the program.
set -eu
LANISTA="$(cd "$(dirname "$1")" && pwd)/$(basename "$1")"
export LANISTA
exec python3 "$(dirname "$0")/browser_test.py"
