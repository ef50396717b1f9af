"""C++ from .proto files with the system's protoc: no download, no protobuf rules."""

def cc_protos(name, srcs, deps = [], visibility = None):
    """A cc_library of the messages in `srcs` (paths as written in their `import` lines: from the workspace's root).

    Args:
      name: the library's name.
      srcs: .proto files of this package; they may import each other.
      deps: other cc_protos libraries.
      visibility: as ever.
    """
    headers = [src.replace(".proto", ".pb.h") for src in srcs]
    sources = [src.replace(".proto", ".pb.cc") for src in srcs]
    native.genrule(
        name = name + "_generate",
        srcs = srcs,
        outs = headers + sources,
        # The root of the sources is where the first one lies, less its package and name: it differs when we are another workspace's dependency.
        cmd = "first=($(SRCS)); root=$${first[0]%%%s/*}; " % native.package_name() +
              "protoc -I $${root:-.} -I /usr/include --cpp_out=$(GENDIR)/$${root} $(SRCS)",
    )
    native.cc_library(
        name = name,
        srcs = sources,
        hdrs = headers,
        visibility = visibility,
        deps = deps + [Label("//third_party:protobuf")],
    )
