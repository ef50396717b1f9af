"""Libraries whose files register things before main: the linker must not drop them."""

def registered_cc_library(name, **kwargs):
    """A cc_library with alwayslink: for files whose last line is LANISTA_REGISTER..."""
    native.cc_library(name = name, alwayslink = True, **kwargs)
