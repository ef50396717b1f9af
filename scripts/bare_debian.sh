#!/bin/sh
# Makes a bare Debian in a folder that is not there yet, from the mirror and through the proxy of this machine. Needs root
# and debootstrap.
#
#   scripts/bare_debian.sh SUITE FOLDER
#
# The folder has its name once it is complete, and what debootstrap mounts in it ends with debootstrap.
set -eu

# shellcheck disable=SC2016  # apt's own variables
mirror=$(apt-get indextargets --format '$(REPO_URI) $(LABEL)' 'Created-By: Packages' | sed -n 's/ Debian$//p' | head -n 1)
echo "Making a bare Debian ($1${mirror:+, from $mirror}) in $2"
rm -rf "$2.unfinished"
unshare --mount debootstrap --variant=minbase "$1" "$2.unfinished" ${mirror:+"$mirror"}
apt-config dump | grep -i '^Acquire::.*proxy' >"$2.unfinished/etc/apt/apt.conf.d/90host-proxy" || true
mv "$2.unfinished" "$2"
