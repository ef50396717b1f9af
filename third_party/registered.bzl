"""Libraries whose files register things before main: the linker must not drop them."""

load(":cc.bzl", "cc_library")

def registered_cc_library(name, **kwargs):
    """A cc_library with alwayslink: for files whose last line is LANISTA_REGISTER..."""
    cc_library(name = name, alwayslink = True, **kwargs)
