"""A repository that is made of a few files of ours instead of a download."""

def _offline_repository_impl(ctx):
    for directory in {path.rpartition("/")[0]: None for path in ctx.attr.files.values()}:
        ctx.file(directory + "/BUILD" if directory else "BUILD", "")
    for source, path in ctx.attr.files.items():
        ctx.symlink(source, path)
    if ctx.attr.build_file:
        ctx.symlink(ctx.attr.build_file, "BUILD")
    ctx.file("WORKSPACE", 'workspace(name = "%s")\n' % ctx.name)

_offline_repository = repository_rule(
    implementation = _offline_repository_impl,
    attrs = {
        "build_file": attr.label(allow_single_file = True),
        "files": attr.label_keyed_string_dict(allow_files = True),
    },
)

def offline_repository(name, files = {}, build_file = None):
    """Makes the repository `name`.

    Args:
      name: the repository's name.
      files: path in the repository -> label of the file that stands there.
      build_file: label of the file that becomes the top BUILD file.
    """
    _offline_repository(
        name = name,
        build_file = build_file,
        files = {label: path for path, label in files.items()},
    )
