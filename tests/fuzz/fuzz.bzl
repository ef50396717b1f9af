"""Fuzz targets: `fuzz_target(name = "x", deps)` has x.cc and the seeds of corpus/x.

  x         with libFuzzer: bazel build --config=fuzz, or scripts/fuzz.sh, which runs it, too
  x_replay  a test of the same code on the seeds alone, with any compiler
"""

def fuzz_target(name, deps, **kwargs):
    srcs = [name + ".cc", "fuzz.h"]
    seeds = native.glob(["corpus/%s/*" % name])
    all_deps = deps + ["//third_party:absl"]
    native.cc_binary(
        name = name,
        testonly = True,
        srcs = srcs,
        linkopts = ["-fsanitize=fuzzer"],
        tags = ["fuzz", "manual"],
        deps = all_deps,
    )
    native.cc_test(
        name = name + "_replay",
        srcs = srcs + ["replay.cc"],
        args = ["$(rootpath %s)" % seed for seed in seeds],
        data = seeds,
        deps = all_deps,
        **kwargs
    )
