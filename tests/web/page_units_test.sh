#!/bin/sh
# Runs the unit tests of the page's modules in node. browser_test runs them in a browser, where there is one.
set -eu
copy=$TEST_TMPDIR/page
mkdir -p "$copy/src/web" "$copy/tests/web"
cp -rL src/web/page "$copy/src/web/"
cp -rL tests/web/page "$copy/tests/web/"
# Node takes .js for its own kind of modules unless this file says otherwise.
echo '{"type": "module"}' >"$copy/package.json"
exec node "$copy/tests/web/page/all_tests.js"
