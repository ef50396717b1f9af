#!/bin/sh
# Runs each fuzz target (tests/fuzz) with libFuzzer. Fails at the first input that breaks one, and says where it is.
#
#   scripts/fuzz.sh [SECONDS [TARGET...]]
#
# SECONDS: for each target; default: 60. TARGET: config, framing, ...; default: all.
#
# What libFuzzer finds to be new goes to a folder that lives on (LANISTA_FUZZ_DIR; default: ~/.cache/lanista/fuzz), so
# that the next run goes on from there. An input that broke something belongs into tests/fuzz/corpus, with the fix.
set -eu
cd "$(dirname "$0")/.."

seconds=${1:-60}
[ $# -eq 0 ] || shift
folder=${LANISTA_FUZZ_DIR:-$HOME/.cache/lanista/fuzz}

./scripts/install_deps.sh --fuzz
if [ $# -eq 0 ]; then
  # shellcheck disable=SC2046  # words
  set -- $(bazel query 'attr(tags, fuzz, kind(cc_binary, //tests/fuzz:*))' | sed 's/.*://')
fi
# shellcheck disable=SC2046  # words
bazel build --config=fuzz $(printf '//tests/fuzz:%s ' "$@")

# As in .bazelrc: the system's libraries are not instrumented, and allocate and free for us.
export ASAN_OPTIONS=detect_leaks=0:detect_odr_violation=0:alloc_dealloc_mismatch=0:allocator_may_return_null=1
for target; do
  echo "fuzz.sh: $target"
  mkdir -p "$folder/$target"
  # Without a line for each input that is new: they would hide what else a CI machine printed.
  if ! "bazel-bin/tests/fuzz/$target" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=3000 -max_len=16384 \
    -verbosity=0 -print_final_stats=1 -artifact_prefix="$folder/$target-" "$folder/$target" "tests/fuzz/corpus/$target"; then
    echo "fuzz.sh: $target is broken by the input that is named above; run it again with" >&2
    echo "  bazel-bin/tests/fuzz/$target INPUT" >&2
    exit 1
  fi
done
echo "fuzz.sh: nothing was found"
