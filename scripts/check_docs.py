#!/usr/bin/python3
"""Checks the documents: pages of docs/reference are what protos/ says (make_reference.py), each room and each part of one
has a README.md of one paragraph, docs/architecture.md says which rooms it may include, each link to a file of the
repository leads to one, the code that a page shows is compiled, and the messages of docs/troubleshooting.md are still
those of the sources. Prints what is wrong, and fails if something is.
"""

import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# Rooms that check_rooms.sh does not look into.
WITHOUT_RULES = ["bench", "clients", "deploy", "packaging", "protos", "scripts", "tests", "third_party"]


def files(*patterns):
    """Files of the repository, by their paths in it."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", *patterns],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )
    return sorted(path for path in listed.stdout.splitlines() if os.path.exists(os.path.join(ROOT, path)))


def pages():
    return files("*.md")


def room_table():
    """The table of check_rooms.sh: lists of a room and those that it may include."""
    table = read("scripts/check_rooms.sh").split("<<'TABLE'\n")[1].split("\nTABLE")[0]
    return [line.split() for line in table.splitlines()]


def rooms():
    """Folders that hold a room or a part of one: those that the table of check_rooms.sh names, those without rules, and
    all folders of sources."""
    names = {row[0] for row in room_table()}
    folders = [name if os.path.isdir(os.path.join(ROOT, name)) else f"src/{name}" for name in sorted(names)]
    # A name that ends with _torch is a half of a room.
    named = [folder for folder in folders if os.path.isdir(os.path.join(ROOT, folder))] + WITHOUT_RULES
    parts = {os.path.dirname(path) for path in files("engines/*.cc", "src/*.cc", "src/*.js")}
    return named + sorted(parts - set(named))


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def mistakes_of_rooms():
    for room in rooms():
        path = f"{room}/README.md"
        if not os.path.exists(os.path.join(ROOT, path)):
            yield f"{path}: please write one paragraph: what the room knows, what it must not know, where to begin"
            continue
        parts = [part for part in read(path).split("\n\n") if part.strip()]
        if len(parts) != 2 or not parts[0].startswith("# "):
            yield f"{path}: a heading and one paragraph, and no more"


def mistakes_of_links():
    for page in pages():
        # What is in a block of code is no link.
        text = re.sub(r"^ *```.*?^ *```", "", read(page), flags=re.MULTILINE | re.DOTALL)
        text = re.sub(r"`[^`\n]*`\S*", lambda code: code[0] if "](" in code[0] else "", text)
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)", text):
            if re.match(r"[a-z]+:", target):
                continue
            if not os.path.exists(os.path.join(ROOT, os.path.dirname(page), target)):
                yield f"{page}: there is no {target}"


def code(text):
    """Code without white space and without comments at the end of a line."""
    return re.sub(r"\s+", "", re.sub(r"(^|\s)//.*", "", text, flags=re.MULTILINE))


def mistakes_of_code():
    """Blocks of C++ and of messages that stand in no file that is built. What `...` and #include divide may stand in
    several places of it."""
    sources = files("examples/*.cc", "tests/docs/*.cc", "tests/docs/*.h", "tests/docs/*.proto")
    built = [code(read(path)) for path in sources]
    for page in files("README.md", "docs/*.md"):
        for block in re.finditer(r"^```(?:cpp|proto)\n(.*?)^```", read(page), re.MULTILINE | re.DOTALL):
            parts = re.split(r"^\s*\.\.\.$|^(#include .*)$", block[1], flags=re.MULTILINE)
            parts = [code(part) for part in parts if part]
            if not any(all(part in text for part in parts) for text in built):
                first = block[1].splitlines()[0]
                yield f"{page}: no file that is built has this code (see tests/docs/code_of_pages.cc): {first}"


def included_rooms():
    """What docs/architecture.md says which room may include, from the table of scripts/check_rooms.sh: by room."""
    halves = {}
    for room, *others in room_table():
        whole = room.split("/")[0].removesuffix("_torch")
        names = halves.setdefault(whole, ([], []))[room.endswith("_torch")]
        for other in (other.removesuffix("_torch") for other in others):
            if other.split("/")[0] != whole and other not in ["torch", *names]:
                names.append(other)
    for room, (plain, torch) in halves.items():
        more = ", ".join(name for name in torch if name not in plain)
        yield room, "; ".join([", ".join(plain)] * bool(plain) + [f"the half with LibTorch: {more}"] * bool(more))


def mistakes_of_included_rooms():
    page = "docs/architecture.md"
    told = dict(re.findall(r"^\| `(?:src/)?(\w+)(?:/lanista)?/` \| .* \| ([^|]*) \|$", read(page), re.MULTILINE))
    for room, wanted in included_rooms():
        if wanted and told.get(room) != wanted:
            yield f"{page}: the room {room} may include: {wanted} (scripts/check_rooms.sh)"


def literals():
    """All strings of the sources, those that the compiler joins as one, each on a line."""
    text = ""
    for folder in ("actors", "engines", "packaging", "src"):
        for place, _, names in os.walk(os.path.join(ROOT, folder)):
            for name in names:
                if name.endswith((".cc", ".h", ".in", ".cmake")):
                    text += read(os.path.join(place, name))
    strings = re.findall(r'"(?:[^"\\\n]|\\.)*"(?:\s*"(?:[^"\\\n]|\\.)*")*', text)
    return "\n".join(re.sub(r'"\s*"', "", string).replace('\\"', '"') for string in strings) + text


def mistakes_of_messages():
    page = "docs/troubleshooting.md"
    known = literals()
    for line in read(page).splitlines():
        column = line.split(" | ")[0]
        if not column.startswith("| "):
            continue
        for message in re.findall(r"`([^`]+)`", column):
            for part in message.split("..."):
                if part not in known:
                    yield f"{page}: no message of the sources has: {part}"


def main():
    checks = [mistakes_of_rooms, mistakes_of_included_rooms, mistakes_of_links, mistakes_of_code, mistakes_of_messages]
    found = [mistake for check in checks for mistake in check()]
    for mistake in found:
        print(mistake, file=sys.stderr)
    stale = subprocess.run([os.path.join(ROOT, "scripts/make_reference.py"), "--check"], check=False).returncode
    return 1 if found or stale else 0


if __name__ == "__main__":
    sys.exit(main())
