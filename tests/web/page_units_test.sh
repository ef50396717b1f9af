#!/bin/sh
# Runs the unit tests of the page's modules in node. browser_test runs them in a browser, where there is one.
set -eu

# The page names all modules, so that the browser does not find them one after the other.
for module in src/web/page/*.js; do
  name=$(basename "$module")
  case "$name" in main.js | theme.js | stream_worker.js) continue ;; esac
  grep -qF "<link rel=\"modulepreload\" href=\"$name\">" src/web/page/index.html || {
    echo "page_units_test.sh: index.html does not preload $name" >&2
    exit 1
  }
done

copy=$TEST_TMPDIR/page
mkdir -p "$copy/src/web" "$copy/tests/web"
cp -rL src/web/page "$copy/src/web/"
cp -rL tests/web/page "$copy/tests/web/"
# Node takes .js for its own kind of modules unless this file says otherwise.
echo '{"type": "module"}' >"$copy/package.json"
# Where local time is not UTC.
TZ=America/Los_Angeles exec node "$copy/tests/web/page/all_tests.js"
