#!/bin/sh
# Runs ssh_test.py: $1 is the program. Only where LANISTA_SSH is set (scripts/slow_test.sh ssh), because it wants an sshd
# and programs that are copied several times.
set -eu
if [ -z "${LANISTA_SSH:-}" ]; then
  echo "ssh_test.sh: SKIPPED: LANISTA_SSH is not set"
  exit 0
fi
LANISTA="$(cd "$(dirname "$1")" && pwd)/$(basename "$1")"
export LANISTA
exec /usr/bin/python3 "$(dirname "$0")/ssh_test.py"
