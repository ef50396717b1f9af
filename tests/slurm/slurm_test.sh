#!/bin/sh
# Runs slurm_test.py: $1 is the program, $2 the source of the fake GPU library. Where there is no Slurm it says so, and
# fails only if LANISTA_SLURM_REQUIRED is set.
set -eu
for program in munged slurmctld slurmd sbatch; do
  command -v $program >/dev/null && continue
  echo "slurm_test.sh: SKIPPED: there is no $program; scripts/install_deps.sh --slurm installs it"
  [ -z "${LANISTA_SLURM_REQUIRED:-}" ]
  exit
done
LANISTA="$(cd "$(dirname "$1")" && pwd)/$(basename "$1")"
FAKE_NVML_SOURCE="$(realpath "$2")"
export LANISTA FAKE_NVML_SOURCE
exec /usr/bin/python3 "$(dirname "$0")/slurm_test.py"
