#!/bin/sh
# Builds Lanista and installs it: programs, headers, libraries for CMake and pkg-config, protos, man pages, completion for
# bash, zsh and fish, and systemd units.
#
#   scripts/install.sh --prefix DIR [--libdir DIR] [-- BAZEL_OPTION...]
#
#   --prefix DIR   /usr/local, or a folder of yours; bin, include, lib and share are made in it
#   --libdir DIR   where the libraries go (default: lib in the prefix)
#   BAZEL_OPTION   how to build (default: -c opt)
#
# DESTDIR in the environment is put before each path, as for `make install`. What was installed is listed in
# share/lanista/installed_files; `xargs -d '\n' rm <DIR/share/lanista/installed_files` removes it.
set -eu

fail() {
  echo "install.sh: $*" >&2
  exit 1
}

prefix=""
libdir=""
while [ $# -gt 0 ]; do
  case "$1" in
    --prefix | --libdir)
      [ $# -gt 1 ] || fail "$1 needs a folder"
      if [ "$1" = --prefix ]; then prefix=$2; else libdir=$2; fi
      shift 2
      ;;
    --)
      shift
      break
      ;;
    *) fail "unknown option $1; usage: scripts/install.sh --prefix DIR [--libdir DIR] [-- BAZEL_OPTION...]" ;;
  esac
done
[ -n "$prefix" ] || fail "say where: scripts/install.sh --prefix /usr/local (or a folder of yours)"
[ $# -gt 0 ] || set -- -c opt
prefix=$(realpath --canonicalize-missing "$prefix")
libdir=$(realpath --canonicalize-missing "${libdir:-$prefix/lib}")
case "$libdir" in
  "$prefix"/*) ;;
  *) fail "--libdir $libdir is not below --prefix $prefix, where CMake would look for the headers" ;;
esac
case "$prefix$libdir" in
  *[!A-Za-z0-9._+/~@-]*) fail "$libdir: a linker's options cannot have such a path; use letters, digits and . _ + - ~ @ /" ;;
esac
destdir=${DESTDIR:+$(realpath --canonicalize-missing "$DESTDIR")}
cd "$(dirname "$0")/.."
mkdir -p "$destdir$prefix" 2>/dev/null && [ -w "$destdir$prefix" ] ||
  fail "cannot write to $destdir$prefix: run this as root, or choose another --prefix"

# What it is built with.
libtorch_include=${LANISTA_LIBTORCH:-/usr}/include
version_h=$libtorch_include/torch/csrc/api/include/torch/version.h
common_h=/usr/include/google/protobuf/stubs/common.h
for header in "$version_h" "$common_h"; do
  [ -e "$header" ] || fail "$header is missing: install what Lanista needs with scripts/install_deps.sh"
done
# number FILE NAME: the value of a macro.
number() {
  sed -n "s/^#define $2 \([0-9][0-9]*\).*/\1/p" "$1"
}
libtorch_version=$(number "$version_h" TORCH_VERSION_MAJOR).$(number "$version_h" TORCH_VERSION_MINOR)
protobuf_number=$(number "$common_h" GOOGLE_PROTOBUF_VERSION)
protobuf_version=$((protobuf_number / 1000))
protobuf_text=$((protobuf_number / 1000000)).$((protobuf_number / 1000 % 1000)).$((protobuf_number % 1000))
version=$(sed -n 's/.*kVersion\[\] = "\(.*\)";/\1/p' src/base/version.h)

bazel build "$@" //:lanista //:lanista-trial //packaging:archives //protos
built=$(bazel info "$@" bazel-bin)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
: >"$work/installed"

# put MODE FILE PATH: installs a file, with PATH as users will see it.
put() {
  install -D -m "$1" "$2" "$destdir$3"
  echo "$3" >>"$work/installed"
}

put 755 "$built/lanista" "$prefix/bin/lanista"
put 755 "$built/lanista-trial" "$prefix/bin/lanista-trial"

# Headers: the public ones, and what they include, below lanista/internal, so that no folder of a user's project called
# src or protos comes before ours.
included() {
  sed -n 's/^#include "\(\(src\|protos\|engines\|actors\|lanista\)\/[^"]*\)".*/\1/p' "$1"
}
# header NAME: the file behind #include "NAME".
header() {
  case "$1" in
    lanista/*) echo "include/$1" ;;
    protos/*) echo "$built/$1" ;;
    *) echo "$1" ;;
  esac
}
rm -rf "$destdir$prefix/include/lanista"
# CMake compares the versions of LibTorch and protobuf; without it the compiler does.
cat >"$work/built_with.h" <<END
// Written by scripts/install.sh: what this Lanista was built with.
#if !__has_include(<torch/version.h>)
#error "Lanista needs LibTorch $libtorch_version, and the compiler finds none: install it (Debian: libtorch-dev), or name the folders of an unpacked download (-I/path/to/libtorch/include -I/path/to/libtorch/include/torch/csrc/api/include)."
#endif
#include <torch/version.h>
#if TORCH_VERSION_MAJOR != ${libtorch_version%.*} || TORCH_VERSION_MINOR != ${libtorch_version#*.}
#error "This Lanista was built with LibTorch $libtorch_version, and the compiler finds another one: name that one's folders, or build Lanista with yours (scripts/install.sh)."
#endif
END
cat >"$work/built_with_protobuf.h" <<END
// Written by scripts/install.sh: what this Lanista was built with.
#if !__has_include(<google/protobuf/stubs/common.h>)
#error "Lanista needs the headers of protobuf $protobuf_text, and the compiler finds none: install them (Debian: libprotobuf-dev)."
#endif
#include <google/protobuf/stubs/common.h>
#if GOOGLE_PROTOBUF_VERSION / 1000 != $protobuf_version
#error "This Lanista was built with protobuf $protobuf_text, and the compiler finds another one: install that version, or build Lanista with yours (scripts/install.sh)."
#endif
END
for header in built_with.h built_with_protobuf.h; do put 644 "$work/$header" "$prefix/include/lanista/internal/$header"; done
(cd include && ls lanista/*.h) >"$work/headers"
while [ -s "$work/headers" ]; do
  : >"$work/more"
  while read -r name; do
    file=$(header "$name")
    [ -e "$file" ] || fail "a public header includes $name, which does not exist"
    case "$name" in
      lanista/*) path=$prefix/include/$name ;;
      *) path=$prefix/include/lanista/internal/$name ;;
    esac
    sed 's/^#include "\(src\|protos\|engines\|actors\)\//#include "lanista\/internal\/\1\//' "$file" >"$work/header"
    case "$name" in
      lanista/*) sed -i '/^#define LANISTA_INCLUDE_/a #include "lanista/internal/built_with_protobuf.h"' "$work/header" ;;
    esac
    case "$name" in
      lanista/dataset.h | lanista/evaluator.h | lanista/nn.h | lanista/transform.h)
        sed -i '/^#define LANISTA_INCLUDE_/a #include "lanista/internal/built_with.h"' "$work/header"
        ;;
    esac
    put 644 "$work/header" "$path"
    included "$file" >>"$work/more"
  done <"$work/headers"
  sort -u "$work/more" | while read -r name; do
    [ -e "$destdir$prefix/include/lanista/internal/$name" ] || [ -e "$destdir$prefix/include/$name" ] || echo "$name"
  done >"$work/headers"
done

# A download of LibTorch has headers of other versions of these (third_party/libtorch/repository.bzl): the system's come
# before them, by links in a folder of their own.
for library in google fmt; do
  mkdir -p "$destdir$prefix/include/lanista/internal/system"
  ln -s "/usr/include/$library" "$destdir$prefix/include/lanista/internal/system/$library"
  echo "$prefix/include/lanista/internal/system/$library" >>"$work/installed"
done

# Libraries. All flags in one word, so that no tool takes them apart or sorts them.
link_flags=-Wl,--push-state,--no-as-needed$(sed 's/^-Wl,//; s/^/,/' "$built/packaging/link_flags" | tr -d '\n'),--pop-state
case "$link_flags" in *[!-A-Za-z0-9._+,=/]*) fail "cannot hand on these options of the linker: $link_flags" ;; esac
libtorch_flags="-Wl,--push-state,--no-as-needed,-ltorch,-ltorch_cpu,-lc10,--pop-state"
if [ -n "${LANISTA_LIBTORCH:-}" ]; then
  [ ! -e "$LANISTA_LIBTORCH/lib/libtorch_cuda.so" ] || libtorch_flags=${libtorch_flags%,--pop-state},-ltorch_cuda,-lc10_cuda,--pop-state
  # -lstdc++ comes first because downloads export parts of another one (third_party/libtorch/repository.bzl).
  libtorch_flags="-Wl,--push-state,--no-as-needed,-lstdc++,--pop-state -L$LANISTA_LIBTORCH/lib -Wl,-rpath,$LANISTA_LIBTORCH/lib $libtorch_flags"
fi
# fill TEMPLATE: with the values of this installation.
fill() {
  sed -e "s|@PREFIX@|$prefix|g" -e "s|@LIBDIR@|$libdir|g" -e "s|@VERSION@|$version|g" \
    -e "s|@LIBTORCH_INCLUDE@|$libtorch_include|g" -e "s|@LIBTORCH_VERSION@|$libtorch_version|g" \
    -e "s|@LIBTORCH_FLAGS@|$libtorch_flags|g" -e "s|@LINK_FLAGS@|$link_flags|g" \
    -e "s|@PROTOBUF_VERSION@|$protobuf_version|g" -e "s|@PROTOBUF_VERSION_TEXT@|$protobuf_text|g" "$1" >"$work/filled"
}
for archive in liblanista.a liblanista_registered.a; do put 644 "$built/packaging/$archive" "$libdir/$archive"; done
for template in LanistaConfig.cmake LanistaConfigVersion.cmake; do
  fill "packaging/cmake/$template.in"
  put 644 "$work/filled" "$libdir/cmake/Lanista/$template"
done
fill packaging/lanista.pc.in
put 644 "$work/filled" "$libdir/pkgconfig/lanista.pc"

# For clients in other languages: protoc -I share/lanista share/lanista/protos/*.proto.
for proto in protos/*.proto; do put 644 "$proto" "$prefix/share/lanista/$proto"; done

# The program describes itself.
for page in $("$built/lanista" man --list); do
  "$built/lanista" man "$page" >"$work/page"
  gzip -9n <"$work/page" >"$work/page.gz"
  put 644 "$work/page.gz" "$prefix/share/man/man1/$page.1.gz"
done
completion() {
  "$built/lanista" completion "$1" >"$work/completion"
  put 644 "$work/completion" "$prefix/share/$2"
}
completion bash bash-completion/completions/lanista
completion fish fish/vendor_completions.d/lanista.fish
# Debian's zsh looks here; others in site-functions.
if [ "$prefix" = /usr ]; then completion zsh zsh/vendor-completions/_lanista; else completion zsh zsh/site-functions/_lanista; fi

# Services (docs/cluster.md).
for unit in lanista-head.service lanista-node.service; do
  sed "s|/usr/local/bin/|$prefix/bin/|" "deploy/systemd/$unit" >"$work/unit"
  put 644 "$work/unit" "$prefix/lib/systemd/system/$unit"
done
put 644 deploy/systemd/lanista.sysusers "$prefix/lib/sysusers.d/lanista.conf"
for settings in head.env node.env; do put 644 "deploy/systemd/$settings" "$prefix/share/doc/lanista/examples/$settings"; done
put 644 LICENSE "$prefix/share/doc/lanista/LICENSE"

echo "$prefix/share/lanista/installed_files" >>"$work/installed"
sort -u -o "$work/installed" "$work/installed"
put 644 "$work/installed" "$prefix/share/lanista/installed_files"
echo "Installed Lanista $version in $destdir$prefix. A project of your own: $prefix/bin/lanista init my_search"
