"""The suites of tests: each package of tests ends with `suites()`, and //tests joins them."""

# Name -> tags that a test must have, or with a minus must not have.
SUITES = {
    # Everything.
    "all": [],
    # Under a minute once built.
    "fast": ["-slow"],
    # What AddressSanitizer sees in CI (scripts/test.sh --ci): code that reads bytes from outside, and builds quickly.
    "asan": ["asan"],
}

def suites():
    """The package's part of each suite: its tests that have the suite's tags."""
    for name, tags in SUITES.items():
        native.test_suite(name = name + "_tests", tags = tags)

def join_suites(packages):
    """Suites of the tests of all packages below this one."""
    for name in SUITES:
        native.test_suite(name = name, tests = ["//tests/%s:%s_tests" % (package, name) for package in packages])
