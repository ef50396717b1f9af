#!/bin/sh
# Runs the commands of README.md's section about a model space of one's own, and checks what they do: `lanista init` makes
# a project with Bazel. In place of `bazel build` the test analyses the whole workspace, compiles only the user's files,
# and takes the program that the main workspace built of them.
set -eu

fail() {
  echo "consumer_test: $*" >&2
  exit 1
}

# The checkout itself, not the links to it that a test sees: the new workspace refers to it by its path.
lanista=$(dirname "$(dirname "$(dirname "$(realpath "$0")")")")
program=$PWD/examples/project/my_search
[ -x "$program" ] || fail "$program was not built"
bazel=$(command -v bazel)
export lanista program bazel

# block LANGUAGE TEXT: the first fenced block of README.md in this language that contains TEXT.
block() {
  awk -v fence="\`\`\`$1" -v text="$2" '
    $0 == fence { inside = 1; found = 0; block = ""; next }
    inside && $0 == "```" { inside = 0; if (found) { printf "%s", block; exit } }
    inside { block = block $0 "\n"; if (index($0, text)) found = 1 }
  ' "$lanista/README.md"
}

# The commands run in a folder like a checkout.
mkdir -p "$TEST_TMPDIR/bin" "$TEST_TMPDIR/home" "$TEST_TMPDIR/user/lanista/bazel-bin"
# It has the same command `init`.
ln -s "$program" "$TEST_TMPDIR/user/lanista/bazel-bin/lanista"
cat >"$TEST_TMPDIR/bin/bazel" <<'END'
#!/bin/sh
set -eu
[ "$*" = "build -c opt //:my_search" ] || { echo "README.md calls bazel $*" >&2; exit 1; }
in_workspace() {
  command=$1
  shift
  "$bazel" --max_idle_secs=60 --output_base="$TEST_TMPDIR/bazel" "$command" --noshow_progress "$@"
}
in_workspace build --nobuild //... @lanista//:all
# The user's files, and no others: the compiler runs on them with the command lines that Bazel would use. A build of
# my_search would compile all of Lanista.
# shellcheck disable=SC2046  # labels are words
in_workspace build --symlink_prefix=/ $(in_workspace query 'kind(genrule, deps(//:all))')
in_workspace aquery 'mnemonic(CppCompile, //:all)' |
  awk '/^  Command Line: / { on = 1; sub(/^  Command Line: /, "") }
       on && /\)$/ { sub(/\)$/, " -fsyntax-only -MF /dev/null)"); on = 0; print; next }
       on' >compile
[ "$(grep -oE '^ *[a-z]+\.cc\b' compile | sort -u | wc -l)" -eq "$(ls ./*.cc | wc -l)" ] || { echo "not a command for each file:"; cat compile; exit 1; }
# The links that a build of my_search would make.
execution_root=$(in_workspace info execution_root)
ln -sfn "$PWD"/*.cc "$execution_root"
for repository in "$(in_workspace info output_base)"/external/*; do
  ln -sfn "$repository" "$execution_root/external"
done
(cd "$execution_root" && sh -eu "$OLDPWD/compile")
in_workspace shutdown
mkdir bazel-bin
ln -s "$program" bazel-bin/my_search
END
chmod +x "$TEST_TMPDIR/bin/bazel"
block sh "--build bazel --source ." | sed "s|--source \.|--source $lanista|" >"$TEST_TMPDIR/commands"
[ -s "$TEST_TMPDIR/commands" ] || fail "README.md has no block of commands with init --build bazel --source ."
(
  cd "$TEST_TMPDIR/user/lanista"
  HOME=$TEST_TMPDIR/home PATH=$TEST_TMPDIR/bin:$PATH sh -eux "$TEST_TMPDIR/commands" >"$TEST_TMPDIR/out" 2>&1
) || fail "the commands of README.md failed: $(cat "$TEST_TMPDIR/out")"
cat "$TEST_TMPDIR/out"
for label in width depth first; do
  grep -q "$label" "$TEST_TMPDIR/out" || fail "validate does not show the choice $label"
done
workspace=$TEST_TMPDIR/user/my_search
exported=$(find "$workspace/best" -name '*.json' | wc -l)
[ "$exported" -eq 3 ] || fail "$exported of 3 models were exported"

# README.md shows the files of the project as they are.
shows() {
  block "$1" "$2" >"$TEST_TMPDIR/shown"
  diff -u "$workspace/$3" "$TEST_TMPDIR/shown" >&2 || fail "README.md shows another $3 than \`lanista init\` writes"
}
shows cpp 'class Net' space.cc
shows python 'name = "my_search"' BUILD
shows textproto 'registered: "net"' experiment.textproto

# The strategy and the evaluator of the project.
my_search() { "$program" --state-dir "$TEST_TMPDIR/state" "$@"; }
my_search --json run "$workspace/own_parts.textproto" >"$TEST_TMPDIR/run" || fail "run failed: $(cat "$TEST_TMPDIR/run")"
id=$(sed -n 's/^ *"id": *"\([^"]*\)".*/\1/p' "$TEST_TMPDIR/run" | head -n 1)
my_search --json trials "$id" >"$TEST_TMPDIR/trials"
succeeded=$(grep -c '"status": *"SUCCEEDED"' "$TEST_TMPDIR/trials") || true
[ "$succeeded" -eq 6 ] || fail "$succeeded of 6 models succeeded"

# The commands that fetch MNIST leave the files that `idx` reads where the configuration says. Nothing is fetched here: a
# file of a name has 20 images of two classes, or their labels.
cat >"$TEST_TMPDIR/bin/wget" <<'END'
#!/bin/sh
set -eu
[ "$#" -eq 3 ] && [ "$1" = -P ] || { echo "README.md calls wget $*" >&2; exit 1; }
mkdir -p "$2"
case "$3" in
  https://*-images-idx3-ubyte.gz) printf '\0\0\010\003\0\0\0\024\0\0\0\034\0\0\0\034' && head -c $((20 * 28 * 28)) /dev/zero ;;
  https://*-labels-idx1-ubyte.gz) printf '\0\0\010\001\0\0\0\024' && for _ in 1 2 3 4 5 6 7 8 9 10; do printf '\0\001'; done ;;
  *) echo "README.md fetches $3" >&2 && exit 1 ;;
esac >"$2/content"
gzip -c "$2/content" >"$2/$(basename "$3")"
rm "$2/content"
END
chmod +x "$TEST_TMPDIR/bin/wget"
block sh "wget -P" >"$TEST_TMPDIR/commands"
[ -s "$TEST_TMPDIR/commands" ] || fail "README.md has no block of commands with wget"
(cd "$workspace" && PATH=$TEST_TMPDIR/bin:$PATH sh -eu "$TEST_TMPDIR/commands") || fail "the commands with wget failed"
sed 's|custom { name: "stripes" }|idx { root: "data/mnist" }|' "$workspace/experiment.textproto" >"$workspace/mnist.textproto"
grep -q 'idx { root: "data/mnist" }' "$workspace/mnist.textproto" || fail "experiment.textproto does not have the dataset of README.md"
my_search --json run "$workspace/mnist.textproto" --set max_trial_number=1 >"$TEST_TMPDIR/run" || fail "MNIST: $(cat "$TEST_TMPDIR/run")"
grep -q '"succeeded": *1\b' "$TEST_TMPDIR/run" || fail "the model did not train on the files: $(cat "$TEST_TMPDIR/run")"

# A folder that holds something is left alone.
if my_search init "$workspace" --build bazel --source "$lanista" 2>"$TEST_TMPDIR/refused"; then fail "$workspace was overwritten"; fi
grep -q "is not empty" "$TEST_TMPDIR/refused" || fail "no reason: $(cat "$TEST_TMPDIR/refused")"
