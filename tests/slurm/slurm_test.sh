#!/bin/sh
# Runs slurm_test.py: $1 is the program, $2 the source of the fake GPU library. It takes some ten minutes, so only where
# LANISTA_SLURM is set (scripts/slow_test.sh slurm).
set -eu
if [ -z "${LANISTA_SLURM:-}" ]; then
  echo "slurm_test.sh: SKIPPED: LANISTA_SLURM is not set"
  exit 0
fi
LANISTA="$(cd "$(dirname "$1")" && pwd)/$(basename "$1")"
FAKE_NVML_SOURCE="$(realpath "$2")"
export LANISTA FAKE_NVML_SOURCE
exec /usr/bin/python3 "$(dirname "$0")/slurm_test.py"
