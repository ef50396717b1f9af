#!/bin/sh
# Proves on a bare Debian, which it makes in a folder, what a clean clone and the packages do. Needs root, debootstrap and
# git; takes some gigabytes and, the first time, an hour.
#
#   scripts/chroot_test.sh [SUITE [COMMAND...]]
#   scripts/chroot_test.sh --packages [SUITE [DEB...]]
#
# SUITE: a Debian release (default: trixie). The first form clones HEAD into the new system, and runs quickstart.sh and
# test.sh there, or COMMAND in their place. The second one builds the Debian packages of HEAD there (or takes DEB...:
# `lanista` and `liblanista-dev` that were built on this release, see make_debs.sh), installs them in a second new system,
# which has neither the sources nor Bazel nor anything that the packages do not ask for, and runs
# tests/install/packages_test.sh in that: the tests are those of the working tree.
#
# Folders: LANISTA_CHROOT, or /var/tmp/lanista-SUITE, is kept, so that a second run starts from installed packages and
# Bazel's cache; the clone in it is made afresh. FOLDER-bare is kept as it was made, and FOLDER-packages is a new copy of it
# each time. Nothing but these folders is shared between runs: each release has compilers and libraries of its own.
set -eu

packages=""
last=""
if [ "${1:-}" = --packages ]; then
  packages=yes
  shift
fi
suite=${1:-trixie}
[ $# -eq 0 ] || shift
root=${LANISTA_CHROOT:-/var/tmp/lanista-$suite}
repository=$(cd "$(dirname "$0")/.." && pwd)

fail() {
  echo "chroot_test.sh: $*" >&2
  exit 1
}
[ "$(id -u)" -eq 0 ] || fail "please run this as root: it mounts /proc and /dev in the new system"
for tool in debootstrap git unshare; do
  command -v "$tool" >/dev/null || fail "please install $tool"
done
if [ -n "$packages" ]; then
  for deb; do [ -f "$deb" ] || fail "there is no package $deb"; done
fi

# make_system FOLDER: a bare Debian, if there is none.
make_system() {
  if [ -e "$1" ]; then
    [ "$(cat "$1/.suite" 2>/dev/null)" = "$suite" ] ||
      fail "$1 is no $suite that this script made: remove it, or name another folder in LANISTA_CHROOT"
  else
    "$repository/scripts/bare_debian.sh" "$suite" "$1"
    echo "$suite" >"$1/.suite"
  fi
  # How names are resolved, localhost among them: debootstrap leaves no hosts file.
  for file in resolv.conf hosts; do cp --remove-destination "/etc/$file" "$1/etc/$file"; done
}

# run_in SYSTEM FOLDER COMMAND...: in a folder of the system, in namespaces of its own: mounts and processes (a Bazel
# server, say) end with the command, however it ends. Without /proc and /dev the Java runtime would not install. With
# `last` set, the command takes the place of this script, and ends with it, too.
run_in() {
  system=$1
  folder=$2
  data="${LANISTA_TEST_DATA:-}"
  export system folder data
  shift 2
  # shellcheck disable=SC2016  # expanded by the inner shell
  ${last:+exec} unshare --mount --pid --fork --kill-child sh -euc '
    mount -t proc proc "$system/proc"
    mount -t sysfs sysfs "$system/sys"
    mount --rbind /dev "$system/dev"
    if [ -n "$data" ]; then
      mkdir -p "$system/mnt/data"
      mount --bind "$data" "$system/mnt/data"
      set -- LANISTA_TEST_DATA=/mnt/data "$@"
    fi
    chroot "$system" env -i HOME=/root LANG=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin TERM="${TERM:-dumb}" \
      sh -c "cd \"\$1\" && shift && exec env \"\$@\"" sh "$folder" "$@"
  ' sh "$@"
}

clone() {
  make_system "$root"
  rm -rf "$root/root/lanista"
  git clone -q "$repository" "$root/root/lanista"
}

if [ -z "$packages" ]; then
  [ $# -gt 0 ] || set -- sh -c './scripts/quickstart.sh && ./scripts/test.sh'
  clone
  last=yes
  run_in "$root" /root/lanista "$@"
fi

if [ $# -eq 0 ]; then
  clone
  rm -rf "$root/root/debs"
  run_in "$root" /root/lanista sh -c './scripts/install_deps.sh && ./scripts/make_debs.sh --out /root/debs'
  set -- "$root"/root/debs/*.deb
fi
make_system "$root-bare"
rm -rf "$root-packages"
cp -a "$root-bare" "$root-packages"
mkdir "$root-packages/root/debs"
cp "$@" "$root-packages/root/debs/"
cp -r "$repository/tests/install" "$root-packages/root/install"
last=yes
run_in "$root-packages" /root sh -euc '
  apt-get update -q
  DEBIAN_FRONTEND=noninteractive apt-get install -q -y ./debs/*.deb
  ./install/packages_test.sh
'
