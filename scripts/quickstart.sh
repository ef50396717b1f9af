#!/bin/sh
# From a clean clone to a finished search: installs what is missing, builds Lanista, and searches 18 small networks on
# digits that it draws itself. No network is needed after the packages are there.
set -eu
cd "$(dirname "$0")/.."

./scripts/install_deps.sh
bazel build -c opt //:lanista //:lanista-trial
# It prints the link of a page on which the search is seen while it runs.
bazel-bin/lanista run examples/quickstart/experiment.textproto --web 0

cat <<'END'

That was a whole search. What next?
  bazel-bin/lanista list                       your experiments, with their ids
  bazel-bin/lanista web                        a web page of them: it prints a link
  bazel-bin/lanista trials ID                  every model of one, and how it fared
  bazel-bin/lanista export ID --top 3 --format json --out best
  examples/README.md                           the same on the real MNIST, and more
  README.md                                    a model space of your own
END
