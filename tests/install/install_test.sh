#!/bin/sh
# Installs Lanista into a folder, and uses nothing but that: a project that `lanista init` writes is built by CMake,
# searches, and passes its tests; a program has a component of each kind; another is linked by pkg-config; what does not
# fit together is refused with a reason; shells complete commands; the Debian packages have the same, and name what they
# need; pip installs the Python package. scripts/slow_test.sh calls it (step install).
#
#   tests/install/install_test.sh [BAZEL_OPTION...]     (default: -c opt)
set -eu
repository=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix

fail() {
  echo "install_test: $*" >&2
  exit 1
}

if [ $# -gt 0 ]; then set -- -- "$@"; fi
"$repository/scripts/install.sh" --prefix "$prefix" "$@"
lanista=$prefix/bin/lanista

# Each header that an installed one includes is installed.
grep -rhoE '^#include "(lanista|src|protos|engines|actors)/[^"]*"' "$prefix/include" | sort -u |
  sed 's/^#include "\(.*\)"/\1/' >"$work/included"
[ -s "$work/included" ] || fail "no header includes another one"
while read -r header; do
  [ -e "$prefix/include/$header" ] || fail "an installed header includes $header, which is not installed"
done <"$work/included"

# A project, from its beginning to its first search.
began=$(date +%s)
"$lanista" init "$work/my_search" >"$work/out"
grep -q "cmake -B build -DCMAKE_PREFIX_PATH=$prefix" "$work/out" || fail "init does not say where Lanista is: $(cat "$work/out")"
cmake -S "$work/my_search" -B "$work/build" -DCMAKE_PREFIX_PATH="$prefix" >"$work/out" 2>&1 || fail "cmake: $(cat "$work/out")"
cmake --build "$work/build" -j2 >"$work/out" 2>&1 || fail "the project does not build: $(cat "$work/out")"
program=$work/build/my_search
"$program" --state-dir "$work/state" --json run "$work/my_search/experiment.textproto" >"$work/run" ||
  fail "the search failed: $(cat "$work/run")"
echo "install_test: $(($(date +%s) - began)) seconds from \`lanista init\` to the end of the first search"
succeeded=$(sed -n 's/^ *"succeeded": *\([0-9]*\).*/\1/p' "$work/run" | head -n 1)
[ "$succeeded" = 12 ] || fail "$succeeded of 12 models succeeded"
"$program" --state-dir "$work/state" export latest --top 2 --out "$work/best" >"$work/out" || fail "export: $(cat "$work/out")"
[ "$(find "$work/best" -name '*.json' | wc -l)" -eq 2 ] || fail "2 models were to be exported"
"$program" --state-dir "$work/state" run "$work/my_search/own_parts.textproto" >"$work/out" ||
  fail "the own strategy and evaluator: $(cat "$work/out")"
ctest --test-dir "$work/build" --output-on-failure >"$work/out" 2>&1 || fail "the project's tests: $(cat "$work/out")"
grep -q "tests passed, 0 tests failed out of 3" "$work/out" || fail "not all tests of the project ran: $(cat "$work/out")"

# A component of each kind, in one file; one whose parameters are a message of its own, and are checked.
own=$repository/tests/install/own_components
cmake -S "$own" -B "$work/own" -DCMAKE_PREFIX_PATH="$prefix" >"$work/out" 2>&1 || fail "cmake: $(cat "$work/out")"
cmake --build "$work/own" -j2 >"$work/out" 2>&1 || fail "the components do not build: $(cat "$work/out")"
"$repository/tests/install/own_components_test.sh" "$work/own/own_components"
for seed in 3 0; do
  if "$work/own/own_components" --state-dir "$work/state" validate "$own/direct.textproto" \
    --set "strategy={ custom { name: \"shuffled\" params { key: \"seed\" value { i: $seed } } } }" >"$work/out" 2>&1; then
    [ "$seed" -eq 3 ] || fail "a seed of 0 was taken"
  else
    grep -q "strategy.custom.params.seed: must be at least 1, got 0" "$work/out" || fail "seed $seed: $(cat "$work/out")"
    [ "$seed" -eq 0 ] || fail "a seed of 3 was refused"
  fi
done
if cmake -S "$own" -B "$work/without_protoc" -DCMAKE_PREFIX_PATH="$prefix" -DLanista_PROTOC= >"$work/out" 2>&1; then
  fail "messages without protoc"
fi
tr -s '\n ' ' ' <"$work/out" | grep -qF "Install it (Debian:" || fail "CMake does not say how to get protoc: $(cat "$work/out")"

# Messages that import others follow them; a file that is named twice is one.
mkdir -p "$work/messages/other"
cat >"$work/messages/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(messages LANGUAGES CXX)
find_package(Lanista REQUIRED)
lanista_protos(messages part.proto whole.proto ./whole.proto ${MORE})
END
echo 'syntax = "proto3"; message Part { int32 number = 1; }' >"$work/messages/part.proto"
echo 'syntax = "proto3"; import "part.proto"; message Whole { Part part = 1; }' >"$work/messages/whole.proto"
cp "$work/messages/whole.proto" "$work/messages/other"
cmake -S "$work/messages" -B "$work/built" -DCMAKE_PREFIX_PATH="$prefix" >"$work/out" 2>&1 || fail "cmake: $(cat "$work/out")"
cmake --build "$work/built" >"$work/out" 2>&1 || fail "the messages do not build: $(cat "$work/out")"
echo '// changed' >>"$work/messages/part.proto"
cmake --build "$work/built" >"$work/out" 2>&1 || fail "the messages do not build again: $(cat "$work/out")"
grep -q "Generating.*whole.pb" "$work/out" || fail "what imports a changed file is not made again: $(cat "$work/out")"
if cmake -S "$work/messages" -B "$work/refused" -DCMAKE_PREFIX_PATH="$prefix" -DMORE=other/whole.proto >"$work/out" 2>&1; then
  fail "two files were to become whole.pb.h"
fi
tr -s '\n ' ' ' <"$work/out" | grep -qF "two files would become whole.pb.h" || fail "CMake does not say which two: $(cat "$work/out")"

# The same by pkg-config. What is registered survives linking: the program knows the built-in strategies.
# shellcheck disable=SC2046  # flags are words
g++ "$work/my_search/main.cc" -o "$work/program" $(PKG_CONFIG_PATH=$prefix/lib/pkgconfig pkg-config --cflags --libs lanista) ||
  fail "pkg-config's flags do not link"
cat >"$work/unknown.textproto" <<'END'
space { registered: "no_such_space" }
strategy { tpe {} }
evaluator { constant {} }
END
if "$work/program" --state-dir "$work/state" validate "$work/unknown.textproto" >"$work/out" 2>&1; then fail "no space, no error"; fi
grep -q no_such_space "$work/out" || fail "the program does not name the space: $(cat "$work/out")"

# A download of LibTorch has the headers of another protobuf among its own, and exports functions of another standard
# library: the system's are found before them.
download=$work/download
mkdir -p "$download/include/google/protobuf/stubs" "$download/include/fmt"
echo '#define GOOGLE_PROTOBUF_VERSION 3013000' >"$download/include/google/protobuf/stubs/common.h"
for header in google/protobuf/message.h fmt/format.h; do echo '#error "of LibTorch"' >"$download/include/$header"; done
libtorch=${LANISTA_LIBTORCH:-/usr}
for folder in ATen c10 caffe2 torch; do ln -s "$libtorch/include/$folder" "$download/include"; done
libtorch_lib=$(dirname "$(find "$libtorch/lib" -name libtorch_cpu.so | head -n 1)")
mkdir "$download/lib"
ln -s "$libtorch_lib"/libtorch_*.so "$libtorch_lib"/libc10*.so "$download/lib"
# std::filesystem::remove_all(const path&, std::error_code&), by which heads delete folders.
echo 'void _ZNSt10filesystem10remove_allERKNS_7__cxx114pathERSt10error_code(void) { __builtin_trap(); }' |
  gcc -shared -fPIC -x c - -o "$download/lib/libtorch.so" -Wl,-soname,libtorch.so
cmake -S "$own" -B "$work/downloaded" -DCMAKE_PREFIX_PATH="$prefix;$download" "-DLANISTA_LIBTORCH=$download" >"$work/out" 2>&1 ||
  fail "cmake: $(cat "$work/out")"
cmake --build "$work/downloaded" -j2 >"$work/out" 2>&1 || fail "a download of LibTorch does not do: $(cat "$work/out")"
"$work/downloaded/own_components" --state-dir "$work/downloaded/state" run "$own/direct.textproto" >"$work/out" 2>&1 ||
  fail "a search with a download of LibTorch: $(cat "$work/out")"
for header in google/protobuf/message.h fmt/format.h; do
  # shellcheck disable=SC2046  # flags are words
  echo "#include <$header>" | g++ -E -x c++ - -o "$work/preprocessed" \
    $(PKG_CONFIG_PATH=$prefix/lib/pkgconfig pkg-config --cflags lanista) "-I$download/include" 2>"$work/out" ||
    fail "pkg-config's flags find the $header of LibTorch first"
done

# What does not fit together.
# refused TEXT OPTION...: cmake says TEXT.
refused() {
  text=$1
  shift
  rm -rf "$work/refused"
  if cmake -S "$work/my_search" -B "$work/refused" -DCMAKE_PREFIX_PATH="$prefix" "$@" >"$work/out" 2>&1; then
    fail "cmake $* should have failed"
  fi
  tr -s '\n ' ' ' <"$work/out" | grep -qF -- "$text" || fail "cmake $* does not say '$text': $(cat "$work/out")"
}
other=$work/other
mkdir -p "$other/include/torch/csrc/api/include/torch" "$other/lib"
printf '#define TORCH_VERSION_MAJOR 9\n#define TORCH_VERSION_MINOR 8\n' >"$other/include/torch/csrc/api/include/torch/version.h"
: >"$other/lib/libtorch_cpu.so"
refused "has 9.8" "-DLANISTA_LIBTORCH=$other"
# shellcheck disable=SC2046  # flags are words
if echo '#include "lanista/dataset.h"' | g++ -E -x c++ - -o "$work/preprocessed" "-I$other/include/torch/csrc/api/include" \
  $(PKG_CONFIG_PATH=$prefix/lib/pkgconfig pkg-config --cflags lanista) 2>"$work/out"; then
  fail "the compiler takes any LibTorch"
fi
grep -q "This Lanista was built with LibTorch" "$work/out" || fail "the compiler does not say why: $(cat "$work/out")"
cp "${LANISTA_LIBTORCH:-/usr}/include/torch/csrc/api/include/torch/version.h" "$other/include/torch/csrc/api/include/torch"
echo "no names of the newer binary interface" >"$other/lib/libc10.so"
refused "built with the C++11 ABI" "-DLANISTA_LIBTORCH=$other"
refused "name the folder of an unpacked download: cmake -DLANISTA_LIBTORCH=" -DCMAKE_IGNORE_PATH=/usr/include
for missing in "built_with.h LibTorch" "built_with_protobuf.h protobuf"; do
  if echo "#include \"lanista/internal/${missing% *}\"" | g++ -E -nostdinc -x c++ - "-I$prefix/include" >"$work/out" 2>&1; then
    fail "the compiler misses no ${missing#* }"
  fi
  grep -q "Lanista needs .*${missing#* }.* the compiler finds none: install" "$work/out" || fail "no advice: $(cat "$work/out")"
done
mkdir -p "$work/protobuf/google/protobuf/stubs"
echo '#define GOOGLE_PROTOBUF_VERSION 3006001' >"$work/protobuf/google/protobuf/stubs/common.h"
refused "Install that version, or build Lanista with yours" "-DCMAKE_INCLUDE_PATH=$work/protobuf"
# What was compared is what the compiler reads.
mkdir "$work/same_protobuf"
ln -s /usr/include/google "$work/same_protobuf"
cmake -S "$own" -B "$work/elsewhere" -DCMAKE_PREFIX_PATH="$prefix" "-DCMAKE_INCLUDE_PATH=$work/same_protobuf" >"$work/out" 2>&1 ||
  fail "the same protobuf elsewhere: $(cat "$work/out")"
grep -rqE -- "-isystem $work/same_protobuf .*internal/system" "$work/elsewhere" --include=flags.make ||
  fail "another protobuf than the one that was found is read"
# shellcheck disable=SC2046  # flags are words
if echo '#include "lanista/client.h"' | g++ -E -x c++ - -o "$work/preprocessed" "-I$work/protobuf" \
  $(PKG_CONFIG_PATH=$prefix/lib/pkgconfig pkg-config --cflags lanista) 2>"$work/out"; then
  fail "the compiler takes any protobuf"
fi
grep -q "This Lanista was built with protobuf" "$work/out" || fail "the compiler does not say why: $(cat "$work/out")"
sed -i 's/find_package(Lanista /find_package(Lanista 99 /' "$work/my_search/CMakeLists.txt"
refused 'compatible with requested version "99"'

# Pages and completion.
for page in lanista lanista-run lanista-init; do
  gzip -dc "$prefix/share/man/man1/$page.1.gz" | grep -q '^\.TH' || fail "there is no page $page"
done
bash -n "$prefix/share/bash-completion/completions/lanista"
for shell in fish zsh; do
  command -v "$shell" >/dev/null || fail "there is no $shell: scripts/install_deps.sh --tests --shells installs it"
done
# shellcheck disable=SC2016  # the shell's own variables
completed=$(HOME=$work fish --no-config -c 'source $argv[1]; complete -C "lanista vali"' \
  "$prefix/share/fish/vendor_completions.d/lanista.fish")
case "$completed" in validate*) ;; *) fail "fish completes vali with '$completed'" ;; esac
# Ids are those of the folder that the line names.
id=$("$prefix/bin/lanista" show latest --state-dir "$work/state" --json | sed -n 's/^ *"id": *"\([^"]*\)".*/\1/p')
[ -n "$id" ] || fail "no experiment in $work/state"
ids() {
  case "$2" in *"$id"*) ;; *) fail "$1 completes ids with '$2', without $id" ;; esac
}
for option in "--state-dir $work/state" "--state-dir=$work/state"; do
  # shellcheck disable=SC2016  # the shell's own variables
  ids fish "$(HOME=$work PATH=$prefix/bin:$PATH fish --no-config -c 'source $argv[1]; complete -C "lanista show $argv[2] "' \
    "$prefix/share/fish/vendor_completions.d/lanista.fish" "$option")"
  # shellcheck disable=SC2016  # the shell's own variables
  ids zsh "$(zsh -f -c 'compdef() { :; }; _arguments() { print -r -- $experiments; }; source $1
    words=($2 show ${=3} ""); CURRENT=$#words; _lanista' \
    zsh "$prefix/share/zsh/site-functions/_lanista" "$prefix/bin/lanista" "$option")"
done
# Without a terminal zsh completes nothing: what the function hands to it.
# shellcheck disable=SC2016  # the shell's own variables
zsh -f -c 'compdef() { :; }; _arguments() { print -rl -- "$@"; }; source $1; words=(lanista run x ""); CURRENT=4; _lanista' \
  zsh "$prefix/share/zsh/site-functions/_lanista" >"$work/out"
grep -q -- '--durable\[' "$work/out" || fail "zsh does not complete --durable: $(cat "$work/out")"
for unit in "$prefix"/lib/systemd/system/lanista-*.service; do
  grep -q "^ExecStart=$prefix/bin/lanista " "$unit" || fail "$unit starts another program"
done

# The packages, unpacked elsewhere. Compressing them takes minutes and proves nothing.
DPKG_DEB_COMPRESSOR_TYPE=none "$repository/scripts/make_debs.sh" --out "$work/debs" "$@" >"$work/out" 2>&1 ||
  fail "no packages: $(cat "$work/out")"
for package in lanista liblanista-dev; do
  dpkg-deb --info "$work/debs/$package"_*.deb >"$work/$package.info"
  dpkg-deb --extract "$work/debs/$package"_*.deb "$work/root"
done
grep -q "Depends: .*libcaf-core" "$work/lanista.info" || fail "lanista does not need CAF: $(cat "$work/lanista.info")"
grep -q "Depends: .*libtorch-dev (<< " "$work/liblanista-dev.info" || fail "any LibTorch would do: $(cat "$work/liblanista-dev.info")"
for file in bin/lanista bin/lanista-trial share/man/man1/lanista-run.1.gz share/bash-completion/completions/lanista \
  share/zsh/vendor-completions/_lanista share/fish/vendor_completions.d/lanista.fish lib/systemd/system/lanista-head.service \
  lib/systemd/system/lanista-node.service lib/sysusers.d/lanista.conf include/lanista/experiment.h \
  share/lanista/protos/service.proto "lib/$(gcc -print-multiarch)/pkgconfig/lanista.pc"; do
  [ -e "$work/root/usr/$file" ] || fail "no package has /usr/$file"
done
for settings in head.env node.env; do
  [ -e "$work/root/etc/lanista/$settings" ] || fail "no package has /etc/lanista/$settings"
done
sed -i 's/find_package(Lanista 99 /find_package(Lanista /' "$work/my_search/CMakeLists.txt"
cmake -S "$work/my_search" -B "$work/build_root" -DCMAKE_PREFIX_PATH="$work/root/usr" >"$work/out" 2>&1 ||
  fail "CMake does not find the package's Lanista: $(cat "$work/out")"
grep -q "Lanista_DIR:PATH=$work/root/" "$work/build_root/CMakeCache.txt" || fail "CMake found another Lanista"

# Nothing stays behind.
xargs -d '\n' rm <"$prefix/share/lanista/installed_files"
[ -z "$(find "$prefix" ! -type d)" ] || fail "removing left: $(find "$prefix" ! -type d)"

# The Python package, by Debian's pip and without a network. It is built in its folder: in a copy.
mkdir -p "$work/checkout/src/base"
cp -r "$repository/clients" "$repository/protos" "$repository/scripts" "$work/checkout/"
rm -rf "$work/checkout/clients/python/lanista/protos"
cp "$repository/src/base/version.h" "$work/checkout/src/base/"
/usr/bin/python3 -m pip install --no-index --no-build-isolation --no-deps --target "$work/python" "$work/checkout/clients/python" \
  >"$work/out" 2>&1 || fail "pip: $(cat "$work/out")"
models=$(cd "$work" && PYTHONPATH=$work/python /usr/bin/python3 -c "
import lanista.client
print(lanista.client.load_config('my_search/experiment.textproto').max_trial_number)")
[ "$models" = 12 ] || fail "the Python client read $models instead of 12 models"
[ -e "$work/python/lanista/py.typed" ] || fail "type checkers do not look at the package"

# What cannot be a prefix.
if "$repository/scripts/install.sh" --prefix "$work/with space" "$@" 2>"$work/out"; then fail "a prefix with a space was taken"; fi
grep -q "cannot have such a path" "$work/out" || fail "no reason: $(cat "$work/out")"
if "$repository/scripts/install.sh" 2>"$work/out"; then fail "no prefix was taken"; fi
grep -q "say where" "$work/out" || fail "no reason: $(cat "$work/out")"
echo "install_test: passed"
