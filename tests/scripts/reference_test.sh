#!/bin/sh
# make_reference.py on a copy of protos/: the pages are what it writes, a change of a comment or an option makes them stale,
# and a field that says nothing is an error. check_docs.py finds what is wrong with documents.
set -eu
copy=$TEST_TMPDIR/copy
mkdir -p "$copy/docs" "$copy/scripts"
cp -rL protos "$copy/protos"
cp -rL docs/reference "$copy/docs/reference"
cp -L scripts/make_reference.py scripts/check_docs.py "$copy/scripts/"
chmod -R u+w "$copy"
export PYTHONDONTWRITEBYTECODE=1
failed=0

# expect NAME STATUS TEXT COMMAND...: the command ends so, and prints the text.
expect() {
  name=$1 status=$2 text=$3
  shift 3
  code=0
  "$@" >"$TEST_TMPDIR/out" 2>&1 || code=$?
  if [ "$code" -ne "$status" ] || { [ -n "$text" ] && ! grep -qF -- "$text" "$TEST_TMPDIR/out"; }; then
    echo "$name: exit code $code instead of $status, or no '$text' in:"
    cat "$TEST_TMPDIR/out"
    failed=1
  fi
}
make_reference() { /usr/bin/python3 "$copy/scripts/make_reference.py" "$@"; }
# change FILE SED_SCRIPT: of protos/, until the next one.
change() {
  cp -L protos/*.proto "$copy/protos/"
  sed -i "$2" "$copy/protos/$1"
  if cmp -s "$copy/protos/$1" "protos/$1"; then
    echo "$2 changes nothing"
    failed=1
  fi
}

expect "the pages are up to date" 0 "" make_reference --check
change experiment.proto 's/  \/\/ Most models\. Default/  \/\/ Most networks. Default/'
expect "another comment" 1 "Most networks." make_reference --check
change experiment.proto 's/at_least: -1000 at_most: 1000/at_least: -7 at_most: 1000/'
expect "another range" 1 "from -7 to 1000" make_reference --check
change experiment.proto '/  \/\/ What all random numbers of the experiment derive from/d'
expect "no comment" 1 "ExperimentConfig.seed has no comment" make_reference --check
change experiment.proto 's/meaning: STEPS if_not_set: 1}/meaning: STEPS if_not_set: 2}/'
expect "two defaults" 1 "says the default is 1, its option if_not_set says 2" make_reference
change service.proto '/  \/\/ All experiments, in pages\./d'
expect "an rpc without a comment" 1 "the rpc List has no comment" make_reference
change experiment.proto 's/  \/\/ Most models\. Default/  \/\/ Most networks. Default/'
expect "writing" 0 "wrote docs/reference/configuration.md" make_reference
expect "written" 0 "" make_reference --check

# Documents: a small tree of two rooms.
mkdir -p "$copy/src/base" "$copy/src/space"
printf "<<'TABLE'\nbase\nspace base\nTABLE\n" >"$copy/scripts/check_rooms.sh"
printf '# Space\n\nOne.\n' >"$copy/src/space/README.md"
printf '| `src/space/` | what it is | base |\n' >"$copy/docs/architecture.md"
for room in bench clients deploy packaging protos scripts tests third_party; do
  mkdir -p "$copy/$room"
  printf '# Room\n\nIt knows.\n' >"$copy/$room/README.md"
done
printf '# Messages\n\n| message | cause |\n| --- | --- |\n| `no room for ... there` | |\n' >"$copy/docs/troubleshooting.md"
printf 'F("no room for ", x, " there");\n' >"$copy/src/base/room.cc"
printf '# A\n\n[there](../src/base/room.cc)\n\n```cpp\nx[0](y);  // why\n...\nz();\n```\n' >"$copy/docs/a.md"
mkdir "$copy/tests/docs"
printf 'void F() {\n  x[0](\n    y);\n  w();\n  z();\n}\n' >"$copy/tests/docs/code.cc"
cp -L docs/reference/*.md "$copy/docs/reference/"
cp -L protos/*.proto "$copy/protos/"
for page in configuration cluster python cli; do echo "# Page" >"$copy/docs/$page.md"; done
git init -q "$copy"
check_docs() { /usr/bin/python3 "$copy/scripts/check_docs.py"; }
expect "a room without a README" 1 "src/base/README.md: please write one paragraph" check_docs
printf '# Base\n\nOne.\n\nTwo.\n' >"$copy/src/base/README.md"
expect "two paragraphs" 1 "src/base/README.md: a heading and one paragraph" check_docs
printf '# Base\n\nOne.\n' >"$copy/src/base/README.md"
expect "all is well" 0 "" check_docs
sed -i 's/z();/v();/' "$copy/tests/docs/code.cc"
expect "code that nobody compiles" 1 "docs/a.md: no file that is built has this code" check_docs
echo '[gone](gone.md)' >>"$copy/docs/a.md"
expect "a link to nothing" 1 "docs/a.md: there is no gone.md" check_docs
printf '# A\n' >"$copy/docs/a.md"
printf 'F("no place for ", x, " there");\n' >"$copy/src/base/room.cc"
expect "a message of old" 1 "no message of the sources has: no room for" check_docs
printf '| `src/space/` | what it is | graph |\n' >"$copy/docs/architecture.md"
expect "another room" 1 "docs/architecture.md: the room space may include: base (scripts/check_rooms.sh)" check_docs
exit "$failed"
