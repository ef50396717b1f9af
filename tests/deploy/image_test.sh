#!/bin/sh
# Builds the images of deploy/docker/Dockerfile and runs them: a head, a node that joins it, a client, and the Python client,
# each in a container of its own. As root. buildah stands for Docker: it reads the same file and needs no service. The Debian
# that the images start from is made here, so no registry of images is asked.
#
#   tests/deploy/image_test.sh
#
# LANISTA_IMAGE_CACHE: a folder that a second run finds Bazel's results in; default: ~/.cache/lanista/image. It is not this
# machine's own cache, for the compiler of the image may be another.
set -eu

fail() {
  echo "image_test: $*" >&2
  exit 1
}

cd "$(dirname "$0")/../.."
if [ $# -eq 0 ]; then
  [ "$(id -u)" -eq 0 ] || fail "please run this as root: it makes file systems of containers"
  for tool in buildah debootstrap unshare; do
    command -v "$tool" >/dev/null || fail "please install $tool (scripts/install_deps.sh --images)"
  done
  # Processes and mounts of containers end with the namespaces, however the test ends.
  work=$(mktemp -d /var/tmp/lanista-image-test-XXXXXX)
  trap 'rm -rf "$work"' EXIT
  unshare --mount --pid --fork --kill-child --mount-proc "$0" "$work" &
  inside=$!
  # Neither unshare nor the first process of a namespace heeds these.
  trap 'kill -KILL "$inside" && exit 1' HUP INT TERM
  wait "$inside"
  exit
fi

work=$1
cache=${LANISTA_IMAGE_CACHE:-$HOME/.cache/lanista/image}
mkdir -p "$cache" "$work/state" "$work/tmp"
# shellcheck source=/dev/null  # of the system
. /etc/os-release
export BUILDAH_ISOLATION=chroot TMPDIR="$work/tmp"
# Seconds that anything may take.
limit=7200

build() { timeout "$limit" buildah --root "$work/storage" --runroot "$work/run" "$@"; }

# start IMAGE: prints the name of a new container.
start() { build from --pull-never "$1"; }

# entry_point CONTAINER: what `docker run` puts before its arguments. Its words have no blanks.
entry_point() { build inspect --format '{{range .OCIv1.Config.Entrypoint}}{{.}} {{end}}' "$1"; }

# in_container CONTAINER ARGUMENT...: as `docker run IMAGE ARGUMENT...`, with the volume of the state, and searches.
in_container() {
  container=$1
  shift
  # shellcheck disable=SC2046  # words
  build run --volume "$work/state:/var/lib/lanista" --volume "$PWD/tests/install:/search:ro" "$container" -- \
    $(entry_point "$container") "$@"
}

./scripts/bare_debian.sh "$VERSION_CODENAME" "$work/debian" >"$work/log" 2>&1 || fail "$(tail -n 5 "$work/log")"
base=$(start scratch)
build add -q "$base" "$work/debian" / >/dev/null
build commit -q --rm "$base" "docker.io/library/debian:$VERSION_ID-slim" >/dev/null
for target in python ""; do
  echo "image_test: builds lanista${target:+-$target}"
  build bud --pull-never --build-arg "DEBIAN=$VERSION_ID" --volume "$cache:/root/.cache/lanista" ${target:+--target "$target"} \
    -f deploy/docker/Dockerfile -t "lanista${target:+-$target}" . >"$work/log" 2>&1 ||
    fail "the image was not built: $(tail -n 30 "$work/log")"
done

# The volume belongs to the user of the image.
user=$(build inspect --type image --format '{{.OCIv1.Config.User}}' lanista)
chown "$user" "$work/state"
head=$(start lanista)
node=$(start lanista)
client=$(start lanista)
python=$(start lanista-python)

mkfifo "$work/address"
in_container "$head" serve --listen 127.0.0.1:0 --insecure --cpu-slots 0 >"$work/address" 2>"$work/head.log" &
address=$(timeout 120 sed -n '/^listening on /{s///p;q}' "$work/address")
[ -n "$address" ] || fail "the head does not start: $(cat "$work/head.log")"
in_container "$node" node --head "$address" --cpu-slots 1 >"$work/node.log" 2>&1 &
# A client waits for a node that has died.
limit=600
in_container "$client" submit /search/built_in.textproto --head "$address" --watch >"$work/log" 2>&1 ||
  fail "the search: $(cat "$work/log" "$work/node.log" "$work/head.log")"
in_container "$client" --json show latest --head "$address" >"$work/show"
grep -q '"succeeded": 2\b' "$work/show" || fail "not two models succeeded: $(cat "$work/show")"
[ "$(stat -c %u "$work"/state/experiments/*/journal.db)" = "$user" ] || fail "the head does not run as the user $user"
ids=$(in_container "$python" -c "
from lanista.client import Client
print([experiment.id for experiment in Client('$address').experiments()])")
id=$(sed -n 's/^  *"id": "\(.*\)",/\1/p' "$work/show" | head -n 1)
[ "$ids" = "['$id']" ] || fail "the Python client sees $ids in the place of $id"
echo "image_test: passed"
