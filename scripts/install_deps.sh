#!/bin/sh
# Installs the Debian packages that Lanista is built from (Debian 12 and 13; as root, or with sudo); with --tests also
# those that its tests compare it with, with --browser the browser that drives the web page (300 MB), with --slurm the
# daemons of Slurm, with --ssh the server of OpenSSH, with --shells the shells besides bash that complete commands, with
# --fuzz the compiler of the fuzz targets, with --docs what writes the pages of the C++ API, with --types what checks the
# types of the Python package, and with --images what builds images of containers. Does nothing, and asks the network
# for nothing, once all of them are there.
set -eu

# Build tools, dpkg-dev for scripts/make_debs.sh, and a runtime library that nothing links by name.
# libopenblas0-pthread: without it LibTorch multiplies matrices with the reference BLAS, 28 times slower.
tools="
  bazel-bootstrap bazel-rules-java ca-certificates dpkg-dev g++ git binutils
  protobuf-compiler protobuf-compiler-grpc
  libopenblas0-pthread"

# Libraries, with their headers; node-d3 is built into the web page, which libzopfli compresses.
libraries="
  libabsl-dev libbenchmark-dev libcaf-dev libcli11-dev libfmt-dev libgmock-dev libgmp-dev libgnutls28-dev libgrpc++-dev
  libgtest-dev libjpeg-dev libmicrohttpd-dev libonnx-dev libpng-dev libprotobuf-dev libspdlog-dev libsqlite3-dev
  libssl-dev libtorch-dev libzopfli-dev nlohmann-json3-dev node-d3 prometheus-cpp-dev zlib1g-dev"

# PyTorch writes the models that are imported and reads those that are exported; ONNX checks its files; openssl makes
# certificates; the Python client needs gRPC; YAML is what Kubernetes reads; iproute2 makes networks that can be cut;
# CMake and pkg-config build programs from an installed Lanista, pip and setuptools the Python package; node runs the unit
# tests of the web page.
test_tools=""
for option; do
  case "$option" in
    --tests)
      test_tools="$test_tools
        clang-format cmake graphviz iproute2 nodejs openssl pkg-config python3-grpcio python3-onnx python3-pip python3-protobuf
        python3-setuptools python3-torch python3-torchvision python3-wheel python3-yaml"
      ;;
    --browser) test_tools="$test_tools chromium chromium-driver" ;;
    --docs) test_tools="$test_tools doxygen" ;;
    --fuzz) test_tools="$test_tools clang libclang-rt-dev llvm" ;;
    --images) test_tools="$test_tools buildah debootstrap" ;;
    --slurm) test_tools="$test_tools munge slurm-client slurmctld slurmd" ;;
    --shells) test_tools="$test_tools fish zsh" ;;
    --ssh) test_tools="$test_tools openssh-client openssh-server" ;;
    --types) test_tools="$test_tools mypy" ;;
  esac
done

# One line.
packages=$(echo "$tools $libraries $test_tools" | tr -s '\n ' ' ')

if ! command -v apt-get >/dev/null; then
  echo "install_deps.sh: no apt-get here. Lanista is built from the packages of Debian 12 or 13; on another system install" >&2
  echo "the counterparts of:$packages" >&2
  exit 1
fi

# shellcheck disable=SC2016,SC2086  # dpkg-query's own variables; the list is words
installed=$(dpkg-query --show --showformat '${db:Status-Abbrev}${Package} ' $packages 2>/dev/null) || true
missing=""
for package in $packages; do
  case " $installed" in
    *" ii $package "* | *" hi $package "*) ;;
    *) missing="$missing $package" ;;
  esac
done
if [ -z "$missing" ]; then
  exit 0
fi

sudo=""
if [ "$(id -u)" -ne 0 ]; then
  sudo=$(command -v sudo) || {
    echo "install_deps.sh: please run this as root, or install sudo: these packages are missing:$missing" >&2
    exit 1
  }
fi
echo "Installing packages that Lanista needs:$missing"
$sudo apt-get update -q
# shellcheck disable=SC2086
$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing
