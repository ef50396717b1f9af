#!/bin/sh
# What takes too long for every change: run it before a release, or every night. Fails at the first step that fails.
#
#   scripts/slow_test.sh [STEP...]
#
# Steps (default: all but gpu, images, packages and ubsan):
#   quickstart  the first command of the README, in a new clone of HEAD
#   optimised   all tests in an optimised build: what is promised bit for bit holds there, too
#   benches     each benchmark with --quick: it runs to its end and prints its figures
#   asan        AddressSanitizer over all tests that do not use LibTorch
#   tsan        ThreadSanitizer over all tests that use neither CAF nor gRPC nor LibTorch (scripts/tsan.sh)
#   resume      searches of each engine and strategy that are killed nine times each, 54 times in all, and go on
#   chaos       a head and four nodes, 500 models twice, and all that can break in between (tests/chaos)
#   reports     a trial that reports a million numbers: all are recorded, and the head's memory does not grow
#   browser     a real browser drives the web page while searches run, stop and lose their head; all numbers on it are those
#               of `--json`, and what odd journals hold is text (Debian's packages chromium and chromium-driver, which it
#               installs)
#   install     Lanista is installed into a folder, and a project outside of the tree is built from that alone by CMake,
#               searches, and passes its tests (tests/install; Debian's packages fish and zsh, which it installs).
#               The step `packages` does so from the Debian packages on a bare Debian
#   gpu         searches on a GPU of this machine; set LANISTA_LIBTORCH to a LibTorch with CUDA; runs only when you name it
#   images      the images of deploy/docker/Dockerfile are built, and a head, a node and clients run in them (tests/deploy; as
#               root; Debian's packages buildah and debootstrap, which it installs); runs only when you name it
#   packages    the Debian packages are built on a new Debian 12 and a new Debian 13, and tried alone on another one (as root;
#               Debian's packages debootstrap and git; hours the first time); runs only when you name it
#   alone       each source is compiled by itself: it includes what it uses
#   docs        the pages of the C++ API are written without a warning (Debian's package doxygen, which it installs)
#   types       the types of the Python package hold (Debian's package mypy, which it installs)
#   fuzz        each fuzz target for a minute (scripts/fuzz.sh)
#   slurm       searches through real Slurm daemons that run on this machine (Debian's packages, which it installs)
#   ssh         searches on nodes that are started through a real sshd of the test's (Debian's package, which it installs)
#   repeat      the fast tests ten times, as many beside each other as there are processors
#   ubsan       UndefinedBehaviorSanitizer over all tests that do not use LibTorch
set -eu
cd "$(dirname "$0")/.."

bench_prints_figures() {
  last=$(bazel run -c opt "$1" -- --quick | tee /dev/stderr | tail -n 1)
  case "$last" in
    '{"bench": "'*'", "figures": {'*'}}') ;;
    *)
      echo "slow_test.sh: $1 did not end with a line of figures" >&2
      return 1
      ;;
  esac
}

[ $# -gt 0 ] || set -- quickstart optimised benches asan tsan resume chaos reports browser slurm ssh install alone docs types fuzz repeat
./scripts/install_deps.sh --tests
for step; do
  echo "slow_test.sh: $step"
  case "$step" in
    quickstart)
      clone=$(mktemp -d)
      git clone --quiet . "$clone"
      (cd "$clone" && ./scripts/quickstart.sh)
      rm -rf "$clone"
      ;;
    optimised) bazel test -c opt //tests:all ;;
    benches)
      ./scripts/install_deps.sh --tests --browser
      benches=$(bazel query 'kind("(cc|sh)_binary", //bench:*) except attr(tags, helper, //bench:*)')
      for bench in $benches; do bench_prints_figures "$bench"; done
      ;;
    alone) bazel build --define=sources=alone //... ;;
    asan | ubsan) bazel test "--config=$step" --test_tag_filters=-torch --build_tests_only //tests/... ;;
    tsan) ./scripts/tsan.sh ;;
    resume)
      bazel test --test_env=LANISTA_TEST_KILLS=9 --test_timeout=3600 --test_filter='*ResumeTest.*:EarlyStoppingTest.AHeadThatIsKilled*' //tests/e2e:e2e_test
      ;;
    chaos)
      bazel test --test_env=LANISTA_TEST_TRIALS=500 --test_timeout=3600 --test_output=all //tests/chaos:chaos_test
      ;;
    reports)
      bazel test --test_env=LANISTA_TEST_REPORTS=1000000 --test_timeout=3600 --test_filter='FlowTest.*' \
        //tests/e2e:e2e_test
      ;;
    browser)
      ./scripts/install_deps.sh --tests --browser
      bazel test --test_env=LANISTA_BROWSER_REQUIRED=1 --test_output=all --local_test_jobs=1 \
        //tests/web:browser_test //tests/web:truth_test //tests/web:odd_journals_test //tests/web:search_test
      ;;
    install)
      ./scripts/install_deps.sh --tests --shells
      ./tests/install/install_test.sh
      ;;
    gpu)
      bazel test -c opt --test_env=LANISTA_GPU_REQUIRED=1 --test_env=CUDA_VISIBLE_DEVICES --nocache_test_results \
        --test_output=all //tests/gpu:gpu_test
      ;;
    images)
      ./scripts/install_deps.sh --tests --images
      ./tests/deploy/image_test.sh
      ;;
    packages)
      for suite in bookworm trixie; do ./scripts/chroot_test.sh --packages "$suite"; done
      ;;
    docs)
      ./scripts/install_deps.sh --tests --docs
      ./scripts/make_api_reference.sh
      ;;
    types)
      ./scripts/install_deps.sh --tests --types
      (cd clients/python && mypy --cache-dir=/dev/null lanista)
      ;;
    fuzz) ./scripts/fuzz.sh ;;
    slurm)
      ./scripts/install_deps.sh --tests --slurm
      bazel test --test_env=LANISTA_SLURM=1 --test_output=all //tests/slurm:slurm_test
      ;;
    ssh)
      ./scripts/install_deps.sh --tests --ssh
      bazel test --test_env=LANISTA_SSH=1 --test_output=all //tests/ssh:ssh_test
      ;;
    repeat) bazel test --runs_per_test=10 //tests:fast ;;
    *)
      echo "slow_test.sh: there is no step '$step'" >&2
      exit 2
      ;;
  esac
done
echo "slow_test.sh: all steps passed"
