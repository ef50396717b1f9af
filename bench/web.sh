#!/bin/sh
# Runs web.py on the programs beside it.
set -eu
here="$(cd "$(dirname "$0")" && pwd)"
# Bazel's runfiles where it runs this; else its output folder.
for root in "$here/web.runfiles/lanista" "$(dirname "$here")"; do
  [ -x "$root/lanista" ] || continue
  LANISTA="$root/lanista" LANISTA_WEB_LOAD="$root/bench/web_load" exec python3 "$root/bench/web.py" "$@"
done
echo "web.sh: cannot find lanista; run it by bazel run -c opt //bench:web" >&2
exit 1
