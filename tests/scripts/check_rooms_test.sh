#!/bin/sh
# A small tree of rooms: scripts/check_rooms.sh passes where includes and visibility fit its table, and names what does
# not.
set -eu

checker=$PWD/scripts/check_rooms.sh
tree=$TEST_TMPDIR/tree
mkdir -p "$tree/scripts" "$tree/src/base" "$tree/src/space" "$tree/actors" "$tree/engines" "$tree/include" "$tree/third_party"
cp "$checker" "$tree/scripts/check_rooms.sh"
cd "$tree"
for room in base space; do
  echo "package(default_visibility = room_visibility(\"$room\"))" >"src/$room/BUILD"
done
echo '#include "src/base/status.h"' >src/space/space.cc
echo 'package(default_visibility = ["//visibility:public"])' >include/BUILD

fail() {
  echo "check_rooms_test: $*" >&2
  exit 1
}

# refused TEXT: the check fails and says TEXT.
refused() {
  if scripts/check_rooms.sh >out; then fail "nothing is wrong, where it should say: $1"; fi
  grep -qF -- "$1" out || fail "it does not say '$1': $(cat out)"
}

refused "third_party/rooms.bzl: is not as the table of scripts/check_rooms.sh says"
scripts/check_rooms.sh --write || fail "what it writes does not please it"
scripts/check_rooms.sh || fail "a tree in order does not please it"
# Who may include a room may depend on it, and nobody else.
grep -q '"space": \["space", .*"storage"' third_party/rooms.bzl || fail "storage may not use space"
if grep '"space": \[' third_party/rooms.bzl | grep -q '"base"'; then fail "base may use space"; fi
# Both halves of a room are in one package.
grep -q '"data": \[.*"api"' third_party/rooms.bzl || fail "the half of api with LibTorch may not use data"

echo '#include "src/space/space.h"' >src/base/status.cc
refused "src/base/status.cc:1: room base may not include room space"
rm src/base/status.cc
echo '#include <torch/torch.h>' >src/base/status.cc
refused "src/base/status.cc:1: room base may not use LibTorch"
echo '#include "lanista/nn.h"' >src/base/status.cc
refused "src/base/status.cc:1: room base may not include room include"
rm src/base/status.cc

echo 'package(default_visibility = ["//visibility:public"])' >src/space/BUILD
refused 'src/space/BUILD: its visibility is not that of its room'
echo '# Says nothing.' >src/space/BUILD
refused 'write package(default_visibility = room_visibility("space"))'
echo 'package(default_visibility = room_visibility("base"))' >src/space/BUILD
refused 'write package(default_visibility = room_visibility("space"))'
# A package may be for fewer than its room is.
echo 'package(default_visibility = ["//src/config:__pkg__"])' >src/space/BUILD
scripts/check_rooms.sh || fail "a package of a room is no package for fewer"
echo 'cc_library(name = "space", visibility = ["//visibility:public"])' >>src/space/BUILD
refused 'src/space/BUILD: its visibility is not that of its room'
rm src/space/BUILD

sed -i 's/^space  /space goals /' scripts/check_rooms.sh
refused "run scripts/check_rooms.sh --write"
scripts/check_rooms.sh --write
scripts/check_rooms.sh || fail "a new table was not written"
