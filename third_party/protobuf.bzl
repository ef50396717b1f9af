"""C++ from .proto files with the system's protoc: no download, no protobuf rules."""

def cc_protos(name, srcs, visibility = None):
    """A cc_library for each .proto file, named as the file without its suffix, and one called `name` of them all.

    Args:
      name: the library of all messages.
      srcs: .proto files of this package, each with those of them that it imports.
      visibility: as ever.
    """
    headers = [src.replace(".proto", ".pb.h") for src in srcs]
    sources = [src.replace(".proto", ".pb.cc") for src in srcs]
    native.genrule(
        name = name + "_generate",
        srcs = srcs.keys(),
        outs = headers + sources,
        # The root of the sources is where the first one lies, less its package and name: it differs when we are another workspace's dependency.
        cmd = "first=($(SRCS)); root=$${first[0]%%%s/*}; " % native.package_name() +
              "protoc -I $${root:-.} -I /usr/include --cpp_out=$(GENDIR)/$${root} $(SRCS)",
    )
    libraries = {src: src.replace(".proto", "") for src in srcs}
    for src, imports in srcs.items():
        native.cc_library(
            name = libraries[src],
            srcs = [src.replace(".proto", ".pb.cc")],
            hdrs = [src.replace(".proto", ".pb.h")],
            visibility = visibility,
            deps = [libraries[i] for i in imports] + [Label("//third_party:protobuf")],
        )
    native.cc_library(
        name = name,
        visibility = visibility,
        deps = libraries.values(),
    )
