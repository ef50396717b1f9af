#!/bin/sh
# Makes the part of the Python client that comes from protos/, the modules lanista.protos.*_pb2, with the system's
# protoc and grpc_python_plugin. After this `from lanista.client import Client` works; lanista.nn needs none of it.
#
#   scripts/python_stubs.sh [FOLDER [PROTO...]]
#
# FOLDER: where the package `lanista` lies (default: clients/python). PROTO: files of protos/ (default: all).
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
folder=${1:-$root/clients/python}
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- "$root"/protos/*.proto

for tool in protoc grpc_python_plugin; do
  command -v "$tool" >/dev/null || {
    echo "python_stubs.sh: there is no $tool; scripts/install_deps.sh installs it" >&2
    exit 1
  }
done

# Generated modules import each other by the folders of their .proto files. As these stand, Python would look for a
# package `protos` beside `lanista`.
sources=$(mktemp -d)
trap 'rm -rf "$sources"' EXIT
mkdir -p "$sources/lanista/protos" "$folder"
for proto; do
  sed 's#^import "protos/#import "lanista/protos/#' "$proto" >"$sources/lanista/protos/$(basename "$proto")"
done
protoc -I "$sources" --python_out="$folder" --pyi_out="$folder" "$sources"/lanista/protos/*.proto
# shellcheck disable=SC2046  # no file of ours has a space in its name
protoc -I "$sources" --plugin=protoc-gen-grpc="$(command -v grpc_python_plugin)" --grpc_out="$folder" \
  $(grep -l '^service ' "$sources"/lanista/protos/*.proto)
