#!/bin/sh
# Builds Lanista as Debian packages for this release of Debian: `lanista` (programs, man pages, completion, services) and
# `liblanista-dev` (headers and libraries for programs of one's own).
#
#   scripts/make_debs.sh [--out DIR] [-- BAZEL_OPTION...]
#
# DEBFULLNAME and DEBEMAIL in the environment are the maintainer of the packages.
set -eu

fail() {
  echo "make_debs.sh: $*" >&2
  exit 1
}

out=.
while [ $# -gt 0 ]; do
  case "$1" in
    --out)
      [ $# -gt 1 ] || fail "--out needs a folder"
      out=$2
      shift 2
      ;;
    --) break ;;
    *) fail "unknown option $1; usage: scripts/make_debs.sh [--out DIR] [-- BAZEL_OPTION...]" ;;
  esac
done
[ -z "${LANISTA_LIBTORCH:-}" ] ||
  fail "packages depend on Debian's LibTorch: unset LANISTA_LIBTORCH, or install with scripts/install.sh --prefix DIR"
for tool in dpkg-deb dpkg-shlibdeps; do
  command -v "$tool" >/dev/null || fail "there is no $tool: install the package dpkg-dev"
done
mkdir -p "$out"
out=$(cd "$out" && pwd)
cd "$(dirname "$0")/.."

# Files of packages are for everybody to read, whatever the builder's own files are.
umask 022
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
program=$work/lanista
library=$work/liblanista-dev
libdir=/usr/lib/$(gcc -print-multiarch)
DESTDIR=$program ./scripts/install.sh --prefix /usr --libdir "$libdir" "$@"

# From one tree two packages. dpkg knows what it installed.
rm "$program/usr/share/lanista/installed_files"
mkdir -p "$library/usr/share" "$library$(dirname "$libdir")"
mv "$program/usr/include" "$library/usr/"
mv "$program$libdir" "$library$libdir"
mv "$program/usr/share/lanista" "$library/usr/share/"
strip --strip-unneeded "$program/usr/bin/lanista" "$program/usr/bin/lanista-trial"
strip --strip-debug "$library$libdir"/*.a
# The settings of services are the administrator's to change.
install -d "$program/etc/lanista"
mv "$program"/usr/share/doc/lanista/examples/*.env "$program/etc/lanista/"
rmdir "$program/usr/share/doc/lanista/examples"

upstream=$(sed -n 's/.*kVersion\[\] = "\(.*\)";/\1/p' src/base/version.h)
# shellcheck disable=SC1091  # of the system
version=$upstream-1~deb$(. /etc/os-release && echo "${VERSION_ID:-}")
architecture=$(dpkg --print-architecture)
for package in lanista liblanista-dev; do
  documents=$work/$package/usr/share/doc/$package
  install -d "$documents"
  echo "Lanista is licensed under the Apache License 2.0, see /usr/share/common-licenses/Apache-2.0." >"$documents/copyright"
  gzip -9n <CHANGELOG.md >"$documents/changelog.gz"
done
rm "$program/usr/share/doc/lanista/LICENSE"

# What the programs need: dpkg knows which packages have the shared libraries.
mkdir "$work/debian"
printf 'Source: lanista\n\nPackage: lanista\nArchitecture: any\n' >"$work/debian/control"
needed=$(cd "$work" && dpkg-shlibdeps -O lanista/usr/bin/lanista lanista/usr/bin/lanista-trial 2>"$work/warnings") ||
  fail "dpkg-shlibdeps: $(cat "$work/warnings")"
needed=${needed#shlibs:Depends=}

# What programs that are linked with the libraries need: the packages that have libX.so for each -lX, in a version that
# fits where the interface is C++.
sed -n 's/^Libs: //p' "$library$libdir/pkgconfig/lanista.pc" | tr ', ' '\n' | sed -n 's/^-l//p' | sort -u >"$work/names"
: >"$work/owners"
while read -r name; do
  file=$(gcc -print-file-name="lib$name.so")
  # What has no file of its own is in the C library.
  case "$file" in /*) ;; *) continue ;; esac
  owner=$(dpkg-query --search "$(cd "$(dirname "$file")" && pwd -P)/lib$name.so") ||
    fail "no package has $file: with libraries of your own, use scripts/install.sh --prefix DIR"
  owner=$(echo "$owner" | grep -v '^diversion by ')
  echo "${owner%%:*}" >>"$work/owners"
done <"$work/names"
libraries=""
for package in $(sort -u "$work/owners"); do
  # shellcheck disable=SC2016  # dpkg-query's own variables
  full=$(dpkg-query --show --showformat '${Version}' "$package")
  series=$(echo "$full" | sed 's/^\(\([0-9]*:\)\{0,1\}[0-9]*\.[0-9]*\).*/\1/')
  case "$package" in
    libgcc-*-dev | libc6-dev) ;;
    libtorch-dev | libprotobuf-dev | libabsl-dev | libcaf-dev | libgrpc*-dev | libspdlog-dev | libfmt-dev | libonnx-dev | prometheus-cpp-dev)
      libraries="$libraries, $package (>= $series), $package (<< ${series%.*}.$((${series##*.} + 1))~)"
      ;;
    *) libraries="$libraries, $package" ;;
  esac
done

# control PACKAGE SECTION DEPENDS RECOMMENDS, and the description from stdin.
control() {
  install -d "$work/$1/DEBIAN"
  {
    echo "Package: $1"
    echo "Source: lanista"
    echo "Version: $version"
    echo "Architecture: $architecture"
    echo "Maintainer: ${DEBFULLNAME:-Lanista} <${DEBEMAIL:-lanista@localhost}>"
    echo "Installed-Size: $(du -k -s "$work/$1" | cut -f1)"
    echo "Section: $2"
    echo "Priority: optional"
    echo "Depends: $3"
    echo "Recommends: $4"
    echo "Description: $(cat)"
  } >"$work/$1/DEBIAN/control"
  (cd "$work/$1" && find usr -type f -exec md5sum {} + | sort -k 2 >DEBIAN/md5sums)
}
control lanista science "$needed" "libopenblas0-pthread" <<'END'
neural architecture search
 Lanista proposes neural networks out of a model space, trains them on every
 device of one machine or many, and keeps the best. This package has the command
 line, the trial process, and services for heads and nodes.
END
control liblanista-dev libdevel "lanista (= $version), g++$libraries" "cmake, libgtest-dev, make, pkg-config, protobuf-compiler" <<'END'
neural architecture search: programs of one's own
 Headers and static libraries of Lanista, for programs that have model spaces,
 evaluators, strategies and data of their own. `lanista init` writes one.
END

(cd "$program" && find etc -type f | sed 's#^#/#' | sort >DEBIAN/conffiles)
cat >"$program/DEBIAN/postinst" <<'END'
#!/bin/sh
set -e
if [ "$1" = configure ] && command -v systemd-sysusers >/dev/null; then systemd-sysusers lanista.conf; fi
if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
END
cat >"$program/DEBIAN/prerm" <<'END'
#!/bin/sh
set -e
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then systemctl stop lanista-head.service lanista-node.service; fi
END
cat >"$program/DEBIAN/postrm" <<'END'
#!/bin/sh
set -e
if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
END
chmod 755 "$program/DEBIAN/postinst" "$program/DEBIAN/prerm" "$program/DEBIAN/postrm"

for package in lanista liblanista-dev; do
  dpkg-deb --root-owner-group --build "$work/$package" "$out/${package}_${version}_$architecture.deb"
done
