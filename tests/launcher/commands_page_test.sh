#!/bin/sh
# docs/reference/commands.md is what the program says of its commands.
"$1" | diff docs/reference/commands.md - || {
  echo "please run: bazel run //tests/launcher:commands_page > docs/reference/commands.md"
  exit 1
}
