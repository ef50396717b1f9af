#!/bin/sh
# Checks the rooms of the house: which folder may include which (docs/architecture.md). Prints each include that breaks
# a rule, and fails if there is one. Bazel refuses such dependencies, too: third_party/rooms.bzl has the table as
# visibility, and each package of a room uses it.
#
#   scripts/check_rooms.sh [--write]
#
#   --write   writes third_party/rooms.bzl anew, after a change of the table below
set -eu
cd "$(dirname "$0")/.."
case "$*" in
  "" | --write) ;;
  *) echo "usage: scripts/check_rooms.sh [--write]" >&2 && exit 2 ;;
esac
export CHECK_ROOMS_WRITE="${1:-}"

# shellcheck disable=SC2046  # no file of ours has a space in its name
awk '
  # The room of a file is its folder below src/, or a folder in that one if the table has it; X_torch.h and X_torch.cc
  # are in the half of it that uses LibTorch, and so is what every engine has there.
  function room_of(path,   parts, room, inner) {
    split(path, parts, "/")
    room = parts[1] == "src" ? parts[2] : parts[1]
    inner = parts[2] "/" parts[3]
    if (parts[1] == "src" && inner in known) room = inner
    return path ~ /_torch\.(h|cc)$|^engines\/model_builder\./ ? room "_torch" : room
  }
  function complain(what) {
    print FILENAME ":" FNR ": " what
    bad = 1
  }

  # A room without its halves: the one of its folder.
  function whole(room) {
    sub(/_torch$/, "", room)
    return room
  }
  # third_party/rooms.bzl as it should be.
  function visibilities(   text, i, j, room, user, seen, users) {
    text = "\"\"\"Who may depend on the packages of a room: written by `scripts/check_rooms.sh --write` from its table.\"\"\"\n\n"
    text = text "# Room -> the rooms that may use it.\n_USERS = {\n"
    for (i = 1; i <= rows; ++i) {
      room = whole(row[i])
      if (seen[room]++) continue
      users = "\"" room "\""
      for (j = 1; j <= rows; ++j) {
        user = whole(row[j])
        if (((row[j], room) in may || (row[j], room "_torch") in may) && user != room && !seen[room, user]++)
          users = users ", \"" user "\""
      }
      text = text "    \"" room "\": [" users "],\n"
    }
    text = text "}\n\n# Rooms that are not below src.\n_AT_THE_ROOT = [\"actors\", \"engines\", \"include\"]\n\n"
    text = text "# The programs of the root, and what tries the rooms.\n"
    text = text "_EVERYWHERE = [\"//:__pkg__\", \"//bench:__subpackages__\", \"//tests:__subpackages__\"]\n\n"
    text = text "def room_visibility(room):\n    \"\"\"The visibility of the packages of a room.\"\"\"\n    return _EVERYWHERE + [\n"
    text = text "        \"//%s:__subpackages__\" % (user if user in _AT_THE_ROOT else \"src/\" + user)\n"
    return text "        for user in _USERS[room]\n    ]\n"
  }
  # Whether the package that was read last has the visibility of its room, or a narrower one of its own.
  function check_package(   wanted) {
    # The public API is for all.
    if (package == "" || package ~ /^include\//) return
    wanted = room_of(package)
    if (open || !named || (room_named != "" && room_named != wanted)) {
      print package ": its visibility is not that of its room; load(\"//third_party:rooms.bzl\", \"room_visibility\") and write " \
            "package(default_visibility = room_visibility(\"" wanted "\")), or name the packages that may use it"
      bad = 1
    }
  }

  # The first file is the table below.
  NR == FNR {
    room = $1
    known[room] = 1
    row[++rows] = room
    for (i = 2; i <= NF; ++i) may[room, $i] = 1
    next
  }
  FILENAME ~ /\/BUILD$/ {
    if (FNR == 1) {
      check_package()
      package = FILENAME
      open = named = 0
      room_named = ""
    }
    if (/\/\/visibility:public/) open = 1
    if (/^package\(/) named = 1
    if (match($0, /room_visibility\("[^"]*"\)/)) room_named = substr($0, RSTART + 17, RLENGTH - 19)
    next
  }
  FNR == 1 {
    room = room_of(FILENAME)
    if (!known[room]) complain("room " room " is not in the table of scripts/check_rooms.sh")
  }
  $1 == "#include" {
    included = substr($2, 2, length($2) - 2)
    # As users write it.
    sub(/^lanista\//, "include/lanista/", included)
    if (included ~ /^(torch|ATen|c10)\//) {
      if (!((room, "torch") in may)) complain("room " room " may not use LibTorch: " included)
    } else if (included ~ /^(src|actors|engines|include|tests|bench)\//) {
      other = room_of(included)
      if (other != room && !((room, other) in may)) complain("room " room " may not include room " other ": " included)
    }
  }
  END {
    check_package()
    file = "third_party/rooms.bzl"
    wanted = visibilities()
    if (ENVIRON["CHECK_ROOMS_WRITE"]) {
      printf "%s", wanted >file
    } else {
      while ((getline line <file) > 0) found = found line "\n"
      if (found != wanted) {
        print file ": is not as the table of scripts/check_rooms.sh says: run scripts/check_rooms.sh --write"
        bad = 1
      }
    }
    exit bad
  }
' - $(find src actors engines include -name '*.h' -o -name '*.cc' -o -name BUILD) <<'TABLE'
base
telemetry       base
trial_process   base
space           base
config          base space
goals           base
devices         base
strategies      base goals space
stopping        base goals strategies
storage         base goals space
views           base goals space storage graph
graph           base
ops             base graph
ops_torch       base graph ops torch
ops/aten        base graph ops
ops/modules     base graph ops
ops/modules_torch base graph ops ops_torch ops/modules torch
runtime         base
runtime_torch   base graph ops ops_torch nn runtime torch
nn              base space torch
data            base config torch
evaluators      base space config nn data torch
frontends       base graph ops runtime_torch torch
exporters/common base graph
exporters/common_torch base graph torch
exporters/python base graph ops exporters/common
exporters/cpp   base graph exporters/common
exporters/onnx  base graph exporters/common
exporters/torchscript base graph exporters/common
exporters/torchscript_torch base graph runtime_torch exporters/common exporters/common_torch exporters/torchscript torch
exporters/results base goals space storage views exporters/common
exporters_torch base graph ops runtime_torch exporters/common exporters/common_torch exporters/cpp exporters/onnx exporters/python exporters/torchscript_torch torch
engines         base space config strategies storage views graph ops
engines_torch   base space config graph ops runtime_torch nn data evaluators frontends engines torch
experiment      base goals space config strategies stopping storage engines
files           base config graph trial_process
actors          base goals space config strategies stopping storage views graph ops engines experiment files telemetry trial_process
service         base config storage views
rpc             base files service views telemetry
web             base goals space config storage views service telemetry
trial           base goals space config strategies storage views graph ops runtime_torch nn data evaluators frontends exporters_torch engines engines_torch launcher trial_process torch
api             base config include launcher rpc storage trial trial_process views
api_torch       base data torch
include         base config devices graph ops nn data evaluators strategies stopping trial api api_torch
launcher        base goals space config devices strategies storage views graph ops exporters/common exporters/results engines experiment files actors service rpc web telemetry trial_process
TABLE
