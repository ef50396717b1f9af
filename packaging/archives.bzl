"""Static libraries for programs that are not built by Bazel."""

def _static_archives_impl(ctx):
    linker_inputs = ctx.attr.library[CcInfo].linking_context.linker_inputs.to_list()
    registered = []
    others = []
    flags = []
    for linker_input in linker_inputs:
        for library in linker_input.libraries:
            # As programs are linked: without PIC where there are both.
            objects = library.objects or library.pic_objects
            if not objects:
                fail("%s has a library without objects" % linker_input.owner)
            (registered if library.alwayslink else others).extend(objects)

        # The user's LibTorch may lie elsewhere.
        if linker_input.owner.workspace_name != "lanista_libtorch":
            flags.extend(linker_input.user_link_flags)

    outputs = []
    for suffix, objects in [("_registered", registered), ("", others)]:
        archive = ctx.actions.declare_file("liblanista%s.a" % suffix)

        # q and not r: files of several folders have the same name.
        arguments = ctx.actions.args()
        arguments.add("qcsD", archive)
        arguments.add_all(objects)
        arguments.use_param_file("@%s", use_always = True)
        ctx.actions.run(
            outputs = [archive],
            inputs = objects,
            executable = "/usr/bin/ar",
            arguments = [arguments],
            mnemonic = "StaticArchive",
        )
        outputs.append(archive)
    link_flags = ctx.actions.declare_file("link_flags")
    ctx.actions.write(link_flags, "".join([flag + "\n" for flag in flags]))
    return [DefaultInfo(files = depset(outputs + [link_flags]))]

static_archives = rule(
    implementation = _static_archives_impl,
    doc = "The objects of a library and of all that it depends on: liblanista_registered.a, which has to be linked " +
          "whole because its files register things before main, liblanista.a, and link_flags, which has the system's " +
          "libraries without LibTorch, one flag a line.",
    attrs = {
        "library": attr.label(
            mandatory = True,
            providers = [CcInfo],
        ),
    },
)
