#!/bin/sh
# Makes a Bazel workspace for a program of your own, on this checkout of Lanista: a model space, a strategy and an
# evaluator to change as you like.
#
#   scripts/new_workspace.sh FOLDER
#
# FOLDER must not exist, or be empty.
set -eu

fail() {
  echo "new_workspace.sh: $*" >&2
  exit 1
}

[ $# -eq 1 ] || fail "usage: scripts/new_workspace.sh FOLDER"
folder=$1
lanista=$(dirname "$(dirname "$(realpath "$0")")")
template=$lanista/tests/consumer/workspace
[ ! -e "$folder" ] || [ -d "$folder" ] || fail "$folder is no folder"
[ -z "$(ls -A "$folder" 2>/dev/null)" ] || fail "$folder is not empty"

mkdir -p "$folder"
cp "$template/BUILD" "$template"/*.cc "$template"/*.textproto "$folder"

cat >"$folder/WORKSPACE" <<END
workspace(name = "my_workspace")

# Where your copy of Lanista lies. The repository's name must be "lanista".
local_repository(
    name = "lanista",
    path = "$lanista",
)

load("@lanista//third_party:deps.bzl", "lanista_deps")

lanista_deps()
END

# The options that Lanista's own .bazelrc gives to its build.
cat >"$folder/.bazelrc" <<'END'
build --cxxopt=-std=c++17 --host_cxxopt=-std=c++17
build --dynamic_mode=off
build --disk_cache=~/.cache/lanista/bazel
build --action_env=PATH=/usr/local/bin:/usr/bin:/bin
build --experimental_strict_action_env
build --spawn_strategy=processwrapper-sandbox,local --genrule_strategy=processwrapper-sandbox,local
END

echo '/bazel-*' >"$folder/.gitignore"

echo "Made $folder: build it with 'cd $folder && bazel build -c opt //:my_program'."
