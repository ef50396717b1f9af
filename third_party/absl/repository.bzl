"""Finds the system's Abseil: its many small libraries have other names, and depend on others, in each release."""

def _absl_repository_impl(ctx):
    found = ctx.execute(["find", "/usr/lib", "/usr/local/lib", "-name", "libabsl_*.so"]).stdout.split("\n")
    names = {path.rpartition("/lib")[2][:-len(".so")]: None for path in found if path}
    if not names:
        fail("Abseil was not found. Install the package libabsl-dev (scripts/install_deps.sh does).")

    # All of them; the linker takes what is needed.
    linkopts = ["-Wl,--push-state,--as-needed"] + ["-l" + name for name in sorted(names)] + ["-Wl,--pop-state"]
    ctx.file("BUILD")
    ctx.file("linkopts.bzl", "ABSL_LINKOPTS = " + repr(linkopts))

absl_repository = repository_rule(
    implementation = _absl_repository_impl,
    local = True,
)
