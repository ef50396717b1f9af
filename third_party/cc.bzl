"""cc_library, cc_binary and cc_test whose sources get a precompiled header: one of what most of them include.

Reading headers would be half of what compiling them takes. Each package of Lanista's whose targets name the messages or
LibTorch's header loads these; a target with `copts` gets none: headers may read its macros."""

_LIBTORCH = Label("//third_party/libtorch:precompiled")
_CONFIGURATION = Label("//protos:precompiled")
_WITHOUT = Label("//third_party:without_precompiled_headers")

# All these messages contain those of the configuration.
_WITH_CONFIGURATION = [
    "//protos",
    "//protos:client_protos",
    "//protos:experiment",
    "//protos:messages",
    "//protos:node",
    "//protos:node_grpc",
    "//protos:node_protos",
    "//protos:returning",
    "//protos:service",
    "//protos:service_grpc",
    "//protos:trial",
]

def _precompiled(deps, copts):
    """`deps` and `copts` of a target, with the header that precedes each of its sources."""
    is_ours = native.repository_name() == "@" + _CONFIGURATION.workspace_name
    if copts or not is_ours or type(deps) != "list":
        return {"deps": deps, "copts": copts}
    if "//third_party/libtorch:precompiled" in deps:
        label = _LIBTORCH
        header = "libtorch.hpp"
    elif [dep for dep in deps if dep in _WITH_CONFIGURATION]:
        label = _CONFIGURATION
        header = "experiment.hpp"
        deps = deps + [str(label)]
    else:
        return {"deps": deps}
    path = "/".join([part for part in ["$(BINDIR)", label.workspace_root, label.package, header] if part])

    # Where the compiler cannot take what was precompiled it warns, and reads the header: after an update of the compiler, say.
    return {
        "deps": deps,
        "copts": select({
            str(_WITHOUT): [],
            "//conditions:default": ["-Winvalid-pch", "-Wno-error=invalid-pch", "-include", path],
        }),
    }

def cc_library(name, deps = [], copts = [], **kwargs):
    """Bazel's, with a precompiled header."""
    kwargs.update(_precompiled(deps, copts))
    native.cc_library(name = name, **kwargs)

def cc_binary(name, deps = [], copts = [], **kwargs):
    """Bazel's, with a precompiled header."""
    kwargs.update(_precompiled(deps, copts))
    native.cc_binary(name = name, **kwargs)

def cc_test(name, deps = [], copts = [], **kwargs):
    """Bazel's, with a precompiled header."""
    kwargs.update(_precompiled(deps, copts))
    native.cc_test(name = name, **kwargs)
