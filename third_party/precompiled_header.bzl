"""Headers that are compiled once, for the many sources that include them."""

load("@bazel_tools//tools/build_defs/cc:action_names.bzl", "ACTION_NAMES")
load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

def _precompiled_header_impl(ctx):
    toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    dependencies = cc_common.merge_cc_infos(cc_infos = [dep[CcInfo] for dep in ctx.attr.deps])
    context = dependencies.compilation_context

    # The compiler takes the second one in the place of the first one, which it reads where that cannot be taken: in a
    # workspace with other flags (PIC, say). That is slower, and no error.
    header = ctx.actions.declare_file(ctx.file.hdr.basename)
    output = ctx.actions.declare_file(ctx.file.hdr.basename + ".gch")
    ctx.actions.symlink(output = header, target_file = ctx.file.hdr)
    variables = cc_common.create_compile_variables(
        feature_configuration = features,
        cc_toolchain = toolchain,
        source_file = ctx.file.hdr.path,
        output_file = output.path,
        user_compile_flags = ctx.fragments.cpp.copts + ctx.fragments.cpp.cxxopts,
        include_directories = context.includes,
        quote_include_directories = context.quote_includes,
        system_include_directories = context.system_includes,
        preprocessor_defines = context.defines,
    )
    ctx.actions.run(
        executable = cc_common.get_tool_for_action(
            feature_configuration = features,
            action_name = ACTION_NAMES.cpp_compile,
        ),
        arguments = cc_common.get_memory_inefficient_command_line(
            feature_configuration = features,
            action_name = ACTION_NAMES.cpp_compile,
            variables = variables,
        ),
        env = cc_common.get_environment_variables(
            feature_configuration = features,
            action_name = ACTION_NAMES.cpp_compile,
            variables = variables,
        ),
        inputs = depset([ctx.file.hdr], transitive = [toolchain.all_files, context.headers]),
        outputs = [output],
        mnemonic = "CppPrecompile",
        progress_message = "Precompiling %s" % ctx.file.hdr.short_path,
    )
    headers = CcInfo(compilation_context = cc_common.create_compilation_context(headers = depset([header, output])))
    return [
        DefaultInfo(files = depset([output])),
        cc_common.merge_cc_infos(direct_cc_infos = [headers], cc_infos = [dependencies]),
    ]

precompiled_header = rule(
    implementation = _precompiled_header_impl,
    attrs = {
        "hdr": attr.label(
            mandatory = True,
            allow_single_file = [".hpp"],
            doc = "It includes what is to be precompiled. The compiler knows by the ending that it is C++.",
        ),
        "deps": attr.label_list(providers = [CcInfo]),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    doc = "Stands for `deps`. The macros of cc.bzl make sources read the compiled header. It is compiled with the flags " +
          "of all targets: what `--per_file_copt` adds must not matter to it.",
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)
