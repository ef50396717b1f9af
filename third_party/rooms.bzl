"""Who may depend on the packages of a room: written by `scripts/check_rooms.sh --write` from its table."""

# Room -> the rooms that may use it.
_USERS = {
    "base": ["base", "telemetry", "space", "config", "goals", "devices", "strategies", "stopping", "storage", "views", "graph", "ops", "nn", "data", "evaluators", "frontends", "exporters", "engines", "experiment", "files", "actors", "service", "rpc", "web", "trial", "api", "include", "launcher"],
    "telemetry": ["telemetry", "actors", "rpc", "web", "launcher"],
    "space": ["space", "config", "strategies", "storage", "views", "nn", "evaluators", "exporters", "engines", "experiment", "actors", "web", "trial", "launcher"],
    "config": ["config", "data", "evaluators", "engines", "experiment", "files", "actors", "service", "web", "trial", "api", "include", "launcher"],
    "goals": ["goals", "strategies", "stopping", "storage", "views", "exporters", "experiment", "actors", "web", "trial", "launcher"],
    "devices": ["devices", "launcher"],
    "strategies": ["strategies", "stopping", "engines", "experiment", "actors", "trial", "include", "launcher"],
    "stopping": ["stopping", "experiment", "actors", "include"],
    "storage": ["storage", "views", "exporters", "engines", "experiment", "actors", "service", "web", "trial", "api", "launcher"],
    "views": ["views", "exporters", "engines", "actors", "service", "rpc", "web", "trial", "api", "launcher"],
    "graph": ["graph", "views", "ops", "frontends", "exporters", "engines", "files", "actors", "trial", "include", "launcher"],
    "ops": ["ops", "evaluators", "frontends", "exporters", "engines", "actors", "trial", "include", "launcher"],
    "nn": ["nn", "ops", "evaluators", "engines", "trial", "include"],
    "data": ["data", "evaluators", "engines", "trial", "api", "include"],
    "evaluators": ["evaluators", "engines", "trial", "include"],
    "frontends": ["frontends", "engines", "trial"],
    "exporters": ["exporters", "trial", "api", "launcher"],
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
_EVERYWHERE = ["//:__pkg__", "//bench:__subpackages__", "//examples:__subpackages__", "//tests:__subpackages__"]

def room_visibility(room):
    """The visibility of the packages of a room."""
    return _EVERYWHERE + [
        "//%s:__subpackages__" % (user if user in _AT_THE_ROOT else "src/" + user)
        for user in _USERS[room]
    ]
