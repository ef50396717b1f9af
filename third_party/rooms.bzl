"""Who may depend on the packages of a room: written by `scripts/check_rooms.sh --write` from its table."""

# Room -> the rooms that may use it.
_USERS = {
    "base": ["base", "telemetry", "trial_process", "space", "config", "goals", "devices", "strategies", "stopping", "storage", "views", "graph", "ops", "ops/aten", "ops/modules", "runtime", "nn", "data", "evaluators", "frontends", "exporters/common", "exporters/python", "exporters/cpp", "exporters/onnx", "exporters/torchscript", "exporters/results", "exporters", "engines", "experiment", "files", "actors", "service", "rpc", "web", "trial", "api", "include", "launcher"],
    "telemetry": ["telemetry", "actors", "rpc", "web", "launcher"],
    "trial_process": ["trial_process", "files", "actors", "trial", "api", "launcher"],
    "space": ["space", "config", "strategies", "storage", "views", "nn", "evaluators", "exporters/results", "engines", "experiment", "actors", "web", "trial", "launcher"],
    "config": ["config", "data", "evaluators", "engines", "experiment", "files", "actors", "service", "web", "trial", "api", "include", "launcher"],
    "goals": ["goals", "strategies", "stopping", "storage", "views", "exporters/results", "experiment", "actors", "web", "trial", "launcher"],
    "devices": ["devices", "include", "launcher"],
    "strategies": ["strategies", "stopping", "engines", "experiment", "actors", "trial", "include", "launcher"],
    "stopping": ["stopping", "experiment", "actors", "include"],
    "storage": ["storage", "views", "exporters/results", "engines", "experiment", "actors", "service", "web", "trial", "api", "launcher"],
    "views": ["views", "exporters/results", "engines", "actors", "service", "rpc", "web", "trial", "api", "launcher"],
    "graph": ["graph", "views", "ops", "ops/aten", "ops/modules", "runtime", "frontends", "exporters/common", "exporters/python", "exporters/cpp", "exporters/onnx", "exporters/torchscript", "exporters", "engines", "files", "actors", "trial", "include", "launcher"],
    "ops": ["ops", "ops/aten", "ops/modules", "runtime", "frontends", "exporters/python", "exporters", "engines", "actors", "trial", "include", "launcher"],
    "ops/aten": ["ops/aten"],
    "ops/modules": ["ops/modules"],
    "runtime": ["runtime", "frontends", "exporters/torchscript", "exporters", "engines", "trial"],
    "nn": ["nn", "runtime", "evaluators", "engines", "trial", "include"],
    "data": ["data", "evaluators", "engines", "trial", "api", "include"],
    "evaluators": ["evaluators", "engines", "trial", "include"],
    "frontends": ["frontends", "engines", "trial"],
    "exporters/common": ["exporters/common", "exporters/python", "exporters/cpp", "exporters/onnx", "exporters/torchscript", "exporters/results", "exporters", "launcher"],
    "exporters/python": ["exporters/python", "exporters"],
    "exporters/cpp": ["exporters/cpp", "exporters"],
    "exporters/onnx": ["exporters/onnx", "exporters"],
    "exporters/torchscript": ["exporters/torchscript", "exporters"],
    "exporters/results": ["exporters/results", "launcher"],
    "exporters": ["exporters", "trial"],
    "engines": ["engines", "experiment", "actors", "trial", "launcher"],
    "experiment": ["experiment", "actors", "launcher"],
    "files": ["files", "actors", "rpc", "launcher"],
    "actors": ["actors", "launcher"],
    "service": ["service", "rpc", "web", "launcher"],
    "rpc": ["rpc", "api", "launcher"],
    "web": ["web", "launcher"],
    "trial": ["trial", "api", "include"],
    "api": ["api", "include"],
    "include": ["include", "api"],
    "launcher": ["launcher", "trial", "api"],
}

# Rooms that are not below src.
_AT_THE_ROOT = ["actors", "engines", "include"]

# The programs of the root, and what tries the rooms.
_EVERYWHERE = ["//:__pkg__", "//bench:__subpackages__", "//tests:__subpackages__"]

def room_visibility(room):
    """The visibility of the packages of a room."""
    return _EVERYWHERE + [
        "//%s:__subpackages__" % (user if user in _AT_THE_ROOT else "src/" + user)
        for user in _USERS[room]
    ]
