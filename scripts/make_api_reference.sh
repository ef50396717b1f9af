#!/bin/sh
# Writes the pages of the C++ API (include/lanista, and the headers of src/ that these show to users) with Doxygen.
# A warning is an error: a public name without a comment, or a comment that Doxygen cannot read.
#
#   scripts/make_api_reference.sh [--out DIR]      (default: docs/reference/cpp; begin with its index.html)
#
# Needs Doxygen: scripts/install_deps.sh --docs.
set -eu
out=""
case "${1:-}" in
  "") ;;
  --out) out=$(mkdir -p "${2:?--out needs a folder}" && cd "$2" && pwd) ;;
  *)
    echo "usage: scripts/make_api_reference.sh [--out DIR]" >&2
    exit 2
    ;;
esac
cd "$(dirname "$0")/.."
out=${out:-docs/reference/cpp}
command -v doxygen >/dev/null || {
  echo "make_api_reference.sh: please install Doxygen: scripts/install_deps.sh --docs" >&2
  exit 1
}

# The classes that users derive from and the functions that they call stand in the headers that the public ones include.
shown=$(sed -n 's/^#include "\(src\/.*\.h\)"$/\1/p' include/lanista/*.h | sort -u | grep -v '^src/api/register\.h$')
warnings=$(mktemp)
trap 'rm -f "$warnings"' EXIT
mkdir -p "$out"
{
  cat packaging/Doxyfile
  # shellcheck disable=SC2086  # paths are words
  echo "INPUT = include/lanista $(echo $shown)"
  echo "OUTPUT_DIRECTORY = $out"
} | doxygen - 2>"$warnings" >/dev/null || { cat "$warnings" >&2; exit 1; }
if [ -s "$warnings" ]; then
  cat "$warnings" >&2
  echo "make_api_reference.sh: please mend these comments" >&2
  exit 1
fi
echo "wrote $out/index.html"
