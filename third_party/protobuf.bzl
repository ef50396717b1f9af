"""C++ from .proto files with the system's protoc: no download, no protobuf rules."""

def _protoc(srcs, option):
    """The command that makes code of .proto files of this package."""

    # The root of the sources is where the first one lies, less its package and name: it differs when we are another workspace's dependency.
    # Messages of other workspaces import protos/options.proto of this one.
    ours = Label("//third_party:protobuf").workspace_root or "."
    return "files=(%s); root=$${files[0]%%%s/*}; " % (" ".join(["$(location %s)" % src for src in srcs]), native.package_name()) + \
           "protoc -I $${root:-.} -I %s -I /usr/include --%s=$(GENDIR)/$${root} $${files[@]}" % (ours, option)

def cc_protos(name, srcs, imported = [], visibility = None):
    """A cc_library for each .proto file, named as the file without its suffix, and one called `name` of them all.

    Args:
      name: the library of all messages.
      srcs: .proto files of this package, each with those that it imports: of this package, or labels of another's.
      imported: those that are imported, by each other too, and are another macro's.
      visibility: as ever.
    """
    headers = [src.replace(".proto", ".pb.h") for src in srcs]
    sources = [src.replace(".proto", ".pb.cc") for src in srcs]
    native.genrule(
        name = name + "_generate",
        srcs = list(srcs.keys()) + imported,
        outs = headers + sources,
        cmd = _protoc(srcs.keys(), "cpp_out"),
    )
    libraries = {src: src.replace(".proto", "") for src in srcs}
    for src, imports in srcs.items():
        native.cc_library(
            name = libraries[src],
            srcs = [src.replace(".proto", ".pb.cc")],
            hdrs = [src.replace(".proto", ".pb.h")],
            visibility = visibility,
            deps = [i.replace(".proto", "") for i in imports] + [Label("//third_party:protobuf")],
        )
    native.cc_library(
        name = name,
        visibility = visibility,
        deps = libraries.values(),
    )

def cc_grpc(name, src, imported, deps, visibility = None):
    """A cc_library of the services in one .proto file, with the system's grpc_cpp_plugin.

    Args:
      name: the library.
      src: the .proto file, of this package.
      imported: the .proto files that it imports, directly or not.
      deps: the library of its messages.
      visibility: as ever.
    """
    header = src.replace(".proto", ".grpc.pb.h")
    source = src.replace(".proto", ".grpc.pb.cc")
    native.genrule(
        name = name + "_generate",
        srcs = [src] + imported,
        outs = [header, source],
        cmd = _protoc([src], "plugin=protoc-gen-grpc=$$(command -v grpc_cpp_plugin) --grpc_out"),
    )
    native.cc_library(
        name = name,
        srcs = [source],
        hdrs = [header],
        visibility = visibility,
        deps = deps + [Label("//third_party:grpc")],
    )
