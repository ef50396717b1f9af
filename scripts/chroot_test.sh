#!/bin/sh
# Proves that a clean clone builds and passes on a bare Debian: makes one in a folder, clones HEAD into it, and runs
# quickstart.sh and test.sh there. Needs root, debootstrap and git; takes some gigabytes and, the first time, an hour.
#
#   scripts/chroot_test.sh [SUITE [COMMAND...]]
#
# SUITE: a Debian release (default: trixie). COMMAND: what to run in the clone instead of the two scripts.
# The folder is kept, so that a second run starts from installed packages and Bazel's cache: LANISTA_CHROOT, or
# /var/tmp/lanista-SUITE. The clone is made afresh each time.
set -eu

suite=${1:-trixie}
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- sh -c './scripts/quickstart.sh && ./scripts/test.sh'
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

# The host's own mirror and proxy serve the new system too.
if ! [ -e "$root/.complete" ]; then
  # shellcheck disable=SC2016  # apt's own variables
  mirror=$(apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' | sed -n 's/^Debian //p' | head -n 1)
  mirror=${mirror:-http://deb.debian.org/debian/}
  echo "Making a bare Debian ($suite, from $mirror) in $root"
  debootstrap --variant=minbase "$suite" "$root" "$mirror"
  apt-config dump | grep -i '^Acquire::.*proxy' >"$root/etc/apt/apt.conf.d/90host-proxy" || true
  touch "$root/.complete"
fi
cp /etc/resolv.conf "$root/etc/resolv.conf"

rm -rf "$root/root/lanista"
git clone -q "$repository" "$root/root/lanista"
mkdir -p "$root/mnt/data"

# In namespaces of its own: mounts and processes (a Bazel server, say) end with the script, however it ends. Without
# /proc and /dev the Java runtime would not install.
export root
export data="${LANISTA_TEST_DATA:-}"
# shellcheck disable=SC2016  # expanded by the inner shell
exec unshare --mount --pid --fork --kill-child sh -euc '
  mount -t proc proc "$root/proc"
  mount -t sysfs sysfs "$root/sys"
  mount --rbind /dev "$root/dev"
  if [ -n "$data" ]; then
    mount --bind "$data" "$root/mnt/data"
    set -- LANISTA_TEST_DATA=/mnt/data "$@"
  fi
  chroot "$root" env -i HOME=/root LANG=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin TERM="${TERM:-dumb}" \
    sh -c "cd /root/lanista && exec env \"\$@\"" sh "$@"
' sh "$@"
