#!/bin/sh
# Checks that clang-format 14 would change nothing in our C++ files, and names each place where it would. Each version
# formats a little differently: where another one is installed, nothing is checked.
set -eu
cd "$(dirname "$0")/.."

formatter=$(command -v clang-format-14 || command -v clang-format || true)
[ -n "$formatter" ] || { echo "check_format.sh: please install clang-format" >&2; exit 1; }
version=$("$formatter" --version)
case "$version" in
  *" version 14."*) ;;
  *)
    echo "check_format.sh: the format is not checked: it is that of clang-format 14, and this is $version"
    exit 0
    ;;
esac
find actors bench engines examples include src tests \( -name '*.cc' -o -name '*.h' \) -exec "$formatter" --dry-run -Werror {} +
