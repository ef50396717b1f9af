"""Finds LibTorch: `LANISTA_LIBTORCH` first, then the system's package.

`LANISTA_LIBTORCH` may name an unpacked pytorch.org download (CUDA builds included) or the `torch` folder of a Python installation;
both have `include/` and `lib/`. The library must be built with the C++11 ABI: the system's CAF, gRPC and protobuf are.
"""

_SYSTEM_INCLUDE = "/usr/include"

# Downloads bring headers of libraries (fmt, protobuf) that we link from the system, in other versions. The compiler would
# find the download's first, so they are left out. An installed Lanista puts the system's before them (scripts/install.sh).
_SHADOWING_HEADERS = ["fmt", "google"]

_BUILD = """
package(default_visibility = ["//visibility:public"])

cc_library(
    name = "libtorch",
    {sources}
    hdrs = glob({headers}, allow_empty = True),
    includes = {includes},
    linkopts = {linkopts},
)
"""

def _check_abi(ctx, root):
    """Fails where the libraries were built with _GLIBCXX_USE_CXX11_ABI=0 (they cannot link the system's CAF and gRPC)."""
    result = ctx.execute(["sh", "-c", "nm -DC '%s/lib/libc10.so' | grep -c 'std::__cxx11::basic_string'" % root])
    if result.stdout.strip() in ["", "0"]:
        fail(("LANISTA_LIBTORCH=%s was built with _GLIBCXX_USE_CXX11_ABI=0 and cannot be linked with the system's CAF, gRPC and " +
              "protobuf. Take the download named 'libtorch-cxx11-abi-shared-with-deps-...' (from 2.7 on every download will do).") % root)

def _libtorch_repository_impl(ctx):
    root = ctx.os.environ.get("LANISTA_LIBTORCH", "")
    if root:
        for needed in ["include/torch/csrc/api/include/torch/torch.h", "lib/libtorch.so", "lib/libc10.so"]:
            if not ctx.path(root + "/" + needed).exists:
                fail("LANISTA_LIBTORCH=%s has no %s: name an unpacked LibTorch download or the 'torch' folder of a Python installation." %
                     (root, needed))
        _check_abi(ctx, root)
        for entry in ctx.path(root + "/include").readdir():
            if entry.basename not in _SHADOWING_HEADERS:
                ctx.symlink(entry, "include/" + entry.basename)
        ctx.symlink(root + "/lib", "lib")
        cuda = ctx.path(root + "/lib/libtorch_cuda.so").exists
        libraries = ["torch", "torch_cpu", "c10"] + (["torch_cuda", "c10_cuda"] if cuda else [])
        # From 2.5 on downloads export parts of the standard library that they were built with, some of which crash in
        # other programs (github.com/pytorch/pytorch/issues/133437). The loader takes a function from the first library
        # that has it, so -lstdc++ comes before LibTorch.
        linkopts = ["-L%s/lib" % root, "-Wl,-rpath,%s/lib" % root, "-Wl,--no-as-needed", "-lstdc++"]
        includes = ["include", "include/torch/csrc/api/include"]
        headers = ["include/**"]
    else:
        if not ctx.path(_SYSTEM_INCLUDE + "/torch/csrc/api/include/torch/torch.h").exists:
            fail("LibTorch was not found. Install the package libtorch-dev (scripts/install_deps.sh does), or set " +
                 "LANISTA_LIBTORCH=/path/to/libtorch.")
        ctx.symlink(_SYSTEM_INCLUDE + "/torch/csrc/api/include", "api")
        libraries = ["torch", "torch_cpu", "c10"]
        linkopts = ["-Wl,--no-as-needed"]
        includes = ["api"]
        headers = ["api/**"]
    linkopts += ["-l" + library for library in libraries] + ["-Wl,--as-needed"]
    ctx.file("BUILD", _BUILD.format(
        sources = "",
        headers = repr(headers),
        includes = repr(includes),
        linkopts = repr(linkopts),
    ))

libtorch_repository = repository_rule(
    implementation = _libtorch_repository_impl,
    environ = ["LANISTA_LIBTORCH"],
    local = True,
)
