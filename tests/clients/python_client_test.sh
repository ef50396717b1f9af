#!/bin/sh
# Runs python_client_test.py as Debian's Python does, which has grpcio; another one that comes first in PATH has not.
set -eu
/usr/bin/python3 -c 'import grpc, google.protobuf' || {
  echo "python_client_test: please install python3-grpcio (scripts/install_deps.sh --tests)" >&2
  exit 1
}
export PYTHONPATH=clients/python PYTHONDONTWRITEBYTECODE=1
exec /usr/bin/python3 tests/clients/python_client_test.py "$@"
