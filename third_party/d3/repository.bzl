"""The D3 library of the web page (src/web), from the distribution: it is built into the program."""

_FILE = "/usr/share/nodejs/d3/dist/d3.min.js"

def _d3_repository_impl(ctx):
    if not ctx.path(_FILE).exists:
        fail("D3 was not found at %s. Install the package node-d3 (scripts/install_deps.sh does)." % _FILE)
    ctx.file("BUILD", 'exports_files(["d3.min.js"])\n')
    ctx.symlink(_FILE, "d3.min.js")

d3_repository = repository_rule(
    implementation = _d3_repository_impl,
    local = True,
)
