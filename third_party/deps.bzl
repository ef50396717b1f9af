"""What Lanista's build needs from outside: `lanista_deps()`, called from a WORKSPACE.

Everything comes from the system's packages (scripts/install_deps.sh); nothing is downloaded.
"""

load("//third_party/absl:repository.bzl", "absl_repository")
load("//third_party/d3:repository.bzl", "d3_repository")
load("//third_party/libtorch:repository.bzl", "libtorch_repository")
load("//third_party/offline:repository.bzl", "offline_repository")

def lanista_deps():
    """Defines the repositories that Lanista's packages refer to, unless the workspace has its own."""
    if not native.existing_rule("lanista_absl"):
        absl_repository(name = "lanista_absl")
    if not native.existing_rule("lanista_d3"):
        d3_repository(name = "lanista_d3")
    if not native.existing_rule("lanista_libtorch"):
        libtorch_repository(name = "lanista_libtorch")

    # The distribution's Bazel asks for these three by name; the usual answer is a download.
    if not native.existing_rule("rules_cc"):
        offline_repository(
            name = "rules_cc",
            files = {"cc/defs.bzl": "@lanista//third_party/offline:rules_cc_defs.bzl.in"},
        )
    if not native.existing_rule("remote_coverage_tools"):
        offline_repository(
            name = "remote_coverage_tools",
            build_file = "@lanista//third_party/offline:coverage_tools.BUILD.in",
        )
    if not native.existing_rule("rules_java"):
        native.local_repository(name = "rules_java", path = "/usr/share/bazel/rules/java")
