#!/bin/sh
# Runs tutorial_test.py as Debian's Python does, which has torch: the last page of the tutorial loads a model there.
set -eu
/usr/bin/python3 -c 'import torch' || {
  echo "tutorial_test: please install python3-torch (scripts/install_deps.sh --tests)" >&2
  exit 1
}
export PYTHONDONTWRITEBYTECODE=1
exec /usr/bin/python3 tests/docs/tutorial_test.py "$@"
