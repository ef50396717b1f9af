#!/bin/sh
# Runs deploy_test.py as Debian's Python does, which has PyYAML; another one that comes first in PATH may have not.
set -eu
/usr/bin/python3 -c 'import yaml' || {
  echo "deploy_test: please install python3-yaml (scripts/install_deps.sh --tests)" >&2
  exit 1
}
export PYTHONDONTWRITEBYTECODE=1
exec /usr/bin/python3 tests/deploy/deploy_test.py "$@"
