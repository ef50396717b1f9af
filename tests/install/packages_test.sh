#!/bin/sh
# What a user does who has the packages `lanista` and `liblanista-dev` and nothing else: a project by `lanista init`, its
# first search, its tests; a program with a component of each kind; another by pkg-config. It needs a Debian on which they
# are installed, and no sources but this folder. `scripts/chroot_test.sh --packages` makes one and calls it there.
#
#   tests/install/packages_test.sh
set -eu

fail() {
  echo "packages_test: $*" >&2
  exit 1
}

here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HOME="$work"
for package in lanista liblanista-dev; do
  dpkg-query --status "$package" >/dev/null || fail "the package $package is not installed"
done
if command -v bazel >/dev/null; then fail "there is a bazel: the packages have to do without"; fi

# The commands that init prints, as they stand.
cd "$work"
began=$(date +%s)
lanista init my_search >out
sed -n 's/^  //p' out >commands
[ "$(wc -l <commands)" -eq 5 ] || fail "init does not print five commands: $(cat out)"
searched="the commands did not get to the search"
while read -r command; do
  case "$command" in
    cd\ *) cd "${command#cd }" ;;
    *) sh -c "$command" </dev/null >"$work/out" 2>&1 || fail "$command: $(cat "$work/out")" ;;
  esac
  case "$command" in *" run "*) searched="$(($(date +%s) - began)) seconds from \`lanista init\` to the end of the first search" ;; esac
done <"$work/commands"
echo "packages_test: $searched"
grep -q "tests passed, 0 tests failed out of 3" "$work/out" || fail "not all tests of the project ran: $(cat "$work/out")"
build/my_search --json show latest >"$work/show"
[ "$(sed -n 's/^ *"succeeded": *\([0-9]*\).*/\1/p' "$work/show" | head -n 1)" = 12 ] ||
  fail "not 12 models succeeded: $(cat "$work/show")"
build/my_search run own_parts.textproto >"$work/out" 2>&1 || fail "the own strategy and evaluator: $(cat "$work/out")"

# A component of each kind.
cmake -S "$here/own_components" -B "$work/own" >"$work/out" 2>&1 || fail "cmake: $(cat "$work/out")"
cmake --build "$work/own" -j2 >"$work/out" 2>&1 || fail "the components do not build: $(cat "$work/out")"
"$here/own_components_test.sh" "$work/own/own_components"

# pkg-config.
# shellcheck disable=SC2046  # flags are words
g++ main.cc -o "$work/program" $(pkg-config --cflags --libs lanista) || fail "pkg-config's flags do not link"
"$work/program" --help >/dev/null || fail "the program that pkg-config linked does not start"

# The command of the package, without a program of one's own.
lanista run "$here/built_in.textproto" >"$work/out" 2>&1 || fail "built_in.textproto: $(cat "$work/out")"
for file in /usr/share/man/man1/lanista-run.1.gz /usr/share/bash-completion/completions/lanista \
  /usr/share/zsh/vendor-completions/_lanista /usr/share/fish/vendor_completions.d/lanista.fish \
  /usr/lib/systemd/system/lanista-head.service /usr/lib/systemd/system/lanista-node.service /etc/lanista/head.env; do
  [ -e "$file" ] || fail "there is no $file"
done
echo "packages_test: passed"
