"""The precompiled headers of LibTorch."""

def precompiled_libtorch():
    """`copts` of targets that depend on //third_party/libtorch:precompiled.

    Not for those with macros or flags of their own that matter to LibTorch's headers (NDEBUG, -fopenmp). A compiler that
    cannot take the precompiled headers warns, which is an error here and none in workspaces that use Lanista."""
    repository = native.repository_name()[1:]
    folder = "external/%s/" % repository if repository else ""
    return ["-Winvalid-pch", "-include", "$(BINDIR)/%sthird_party/libtorch/libtorch.hpp" % folder]
