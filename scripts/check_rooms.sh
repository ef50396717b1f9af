#!/bin/sh
# Checks the rooms of the house: which folder may include which (docs/architecture.md). Prints each include that breaks
# a rule, and fails if there is one.
set -eu
cd "$(dirname "$0")/.."

# shellcheck disable=SC2046  # no file of ours has a space in its name
awk '
  # The room of a file is its folder; X_torch.h and X_torch.cc are in the half of it that uses LibTorch, and so is what
  # every engine has there.
  function room_of(path,   parts, room) {
    split(path, parts, "/")
    room = parts[1] == "src" ? parts[2] : parts[1]
    return path ~ /_torch\.(h|cc)$|^engines\/model_builder\./ ? room "_torch" : room
  }
  function complain(what) {
    print FILENAME ":" FNR ": " what
    bad = 1
  }

  # The first file is the table below.
  NR == FNR {
    room = $1
    known[room] = 1
    for (i = 2; i <= NF; ++i) may[room, $i] = 1
    next
  }
  FNR == 1 {
    room = room_of(FILENAME)
    if (!known[room]) complain("room " room " is not in the table of scripts/check_rooms.sh")
  }
  $1 == "#include" {
    included = substr($2, 2, length($2) - 2)
    if (included ~ /^(torch|ATen|c10)\//) {
      if (!((room, "torch") in may)) complain("room " room " may not use LibTorch: " included)
    } else if (included ~ /^(src|actors|engines|include|tests|bench)\//) {
      other = room_of(included)
      if (other != room && !((room, other) in may)) complain("room " room " may not include room " other ": " included)
    }
  }
  END { exit bad }
' - $(find src actors engines include -name '*.h' -o -name '*.cc') <<'TABLE'
base
telemetry       base
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
ops_torch       base graph ops nn torch
nn              base space torch
data            base config torch
evaluators      base space config nn ops ops_torch data torch
frontends       base graph ops ops_torch torch
exporters       base goals space storage views graph ops
exporters_torch base space storage views graph ops ops_torch exporters torch
engines         base space config strategies storage views graph ops
engines_torch   base space config graph ops ops_torch nn data evaluators frontends engines torch
experiment      base goals space config strategies stopping storage engines
files           base config graph
actors          base goals space config strategies stopping storage views graph ops engines experiment files telemetry
service         base config storage views
rpc             base files service views telemetry
web             base goals space config storage views service telemetry
trial           base goals space config strategies storage views graph ops ops_torch nn data evaluators frontends exporters exporters_torch engines engines_torch launcher torch
api             base config exporters include launcher rpc storage trial views
api_torch       base data torch
include         base config graph ops nn data evaluators strategies stopping trial api api_torch
launcher        base goals space config devices strategies storage views graph ops exporters engines experiment files actors service rpc web telemetry
TABLE
