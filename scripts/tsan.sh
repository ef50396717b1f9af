#!/bin/sh
# ThreadSanitizer over the code that uses neither CAF nor gRPC nor LibTorch (framing, trial processes' channels, loaders'
# queues, the journal, the page's server, the progress display), then over a planted race, which it must report.
#
#   scripts/tsan.sh [--planted-race]
#
# --planted-race: only that.
set -eu
cd "$(dirname "$0")/.."

[ "${1:-}" = --planted-race ] || bazel test --config=tsan //tests/...
bazel build --config=tsan //tests/base:planted_race
if bazel run --config=tsan //tests/base:planted_race >/dev/null 2>&1; then
  echo "The planted race was not reported: ThreadSanitizer does not work here." >&2
  exit 1
fi
echo "The planted race was reported."
