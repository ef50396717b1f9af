"""cc_library, cc_binary and cc_test whose sources are compiled quickly.

Reading headers, and making again what templates make of them, is most of what compiling a source takes. So sources get a
precompiled header, of what most of them include; and the sources of a library are compiled as few units (as CMake's
UNITY_BUILD does). Targets with `copts` get no precompiled header: headers may read their macros."""

_LIBTORCH = Label("//third_party/libtorch:precompiled")
_CONFIGURATION = Label("//protos:precompiled")
_EACH_ALONE = Label("//third_party:each_source_alone")

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

# Sources in a unit, at most: a change of one compiles all of them, and they share the memory of one compiler.
_SOURCES_OF_UNIT = 14

def _is_ours():
    """Whether the macro is used in Lanista's own workspace."""
    return native.repository_name() == "@" + _CONFIGURATION.workspace_name

def _precompiled(deps, copts):
    """`deps` and `copts` of a target, with the header that precedes each of its sources."""
    if copts or not _is_ours() or type(deps) != "list":
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
            str(_EACH_ALONE): [],
            "//conditions:default": ["-Winvalid-pch", "-Wno-error=invalid-pch", "-include", path],
        }),
    }

def _units(name, srcs):
    """`srcs` and `copts` of a library, its sources joined. Names in unnamed namespaces must differ within a unit."""
    if not _is_ours() or type(srcs) != "list":
        return {"srcs": srcs, "copts": []}
    joined = [src for src in srcs if src.endswith(".cc") and not src.startswith(":") and not src.startswith("//")]
    if len(joined) < 2:
        return {"srcs": srcs, "copts": []}
    count = (len(joined) + _SOURCES_OF_UNIT - 1) // _SOURCES_OF_UNIT
    units = []
    for i in range(count):
        unit = "%s_joined_%d.cc" % (name, i + 1)
        native.genrule(
            name = unit[:-len(".cc")],
            srcs = joined[i * len(joined) // count:(i + 1) * len(joined) // count],
            outs = [unit],
            # Messages of the compiler and of the log name the source.
            cmd = "for source in $(SRCS); do echo \"#line 1 \\\"$$source\\\"\"; cat $$source; done >$@",
            visibility = ["//visibility:private"],
        )
        units.append(unit)
    return {
        "srcs": [src for src in srcs if src not in joined] + select({
            str(_EACH_ALONE): joined,
            "//conditions:default": units,
        }),
        # To the compiler, all of a unit but its first source is a header.
        "copts": select({
            str(_EACH_ALONE): [],
            "//conditions:default": ["-Wno-subobject-linkage"],
        }),
    }

def cc_library(name, srcs = [], deps = [], copts = [], **kwargs):
    """Bazel's, with a precompiled header, and its sources joined."""
    kwargs.update(_precompiled(deps, copts))
    units = _units(name, srcs)
    copts = kwargs.pop("copts", []) + units["copts"]
    native.cc_library(name = name, srcs = units["srcs"], copts = copts, **kwargs)

def cc_binary(name, deps = [], copts = [], **kwargs):
    """Bazel's, with a precompiled header."""
    kwargs.update(_precompiled(deps, copts))
    native.cc_binary(name = name, **kwargs)

def cc_test(name, deps = [], copts = [], **kwargs):
    """Bazel's, with a precompiled header."""
    kwargs.update(_precompiled(deps, copts))
    native.cc_test(name = name, **kwargs)
