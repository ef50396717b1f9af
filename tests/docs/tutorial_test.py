"""Does what docs/tutorial tells the reader to do, and compares what is printed with what the pages show.

The arguments are the programs: lanista, and the program of the project that `lanista init` writes, which a page would
build. A page is read from its beginning:

- a block of `sh` is typed, in one shell a page; a line that fails ends the page;
- a block of `text` behind it is what it prints. Numbers, ids and spaces may differ, `...` stands for any lines;
- any other block behind "... `FILE`:" is what the reader writes into this file. Where the file is there already, the
  block shows a part of it.

`--write` in front of the programs puts what is printed into the pages instead.
"""

import glob
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

WRITE = "--write" in sys.argv
if WRITE:
    sys.argv.remove("--write")
ROOT = pathlib.Path.cwd()
LANISTA, MY_SEARCH = (os.path.abspath(sys.argv.pop(1)) for _ in range(2))
# No command of the tutorial takes longer, on a machine that is busy.
SECONDS_FOR_A_BLOCK = 240

# In place of a build of minutes: the program is there already.
CMAKE = """#!/bin/sh
set -eu
case "$*" in
  "-B build") [ -e CMakeLists.txt ] && mkdir -p build ;;
  "--build build -j2") cp "$MY_SEARCH" build/my_search ;;
  *) echo "the tutorial calls cmake $*" >&2; exit 1 ;;
esac
"""
CTEST = """#!/bin/sh
[ "$*" = "--test-dir build" ] || { echo "the tutorial calls ctest $*" >&2; exit 1; }
"""


class Block:
    """A fenced block of a page."""

    def __init__(self, language, text, before):
        self.language = language
        self.text = text
        # The file that it is written to or taken from.
        named = re.search(r"`([\w/]+\.\w+)`[^`.]*:$", before.strip())
        self.file = named[1] if named else None


def blocks(page):
    """The blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    end = 0
    for found in re.finditer(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        yield Block(found[1], found[2], text[end : found.start()])
        end = found.end()


def pattern(line):
    """A regular expression for lines that print the same, with other numbers, ids and spaces."""
    parts = re.split(
        r"(\b[a-z_]+-[a-z0-9]{4}\b|\b[0-9a-f]{12}\b|[-+]?\d[\d.,:hms%TZ-]*(?: \d+[ms]\b)?|\s+)", line.strip())
    texts = []
    for part in parts:
        if re.fullmatch(r"\s+", part):
            texts.append(r"\s+")
        elif re.fullmatch(r"[a-z_]+-[a-z0-9]{4}|[0-9a-f]{12}", part):
            # An experiment's id ends with four characters; a build's has twelve.
            texts.append(r"[\w-]+")
        elif re.match(r"[-+]?\d", part):
            # A time of a minute and more has two parts: "1m 14s".
            texts.append(r"[-+]?\d\S*(?: \d+[ms])?")
        else:
            texts.append(re.escape(part))
    return re.compile(r"\s*" + "".join(texts) + r"\s*")


def difference(expected, printed):
    """How `printed` differs from `expected`; None: not at all. Trials end in any order, so lines may have any."""
    lines = [line for line in printed.splitlines() if line.strip()]
    more_may_come = False
    for line in expected.splitlines():
        if line.strip() == "...":
            more_may_come = True
        elif line.strip():
            matches = [i for i, other in enumerate(lines) if pattern(line).fullmatch(other)]
            if not matches:
                return f"the page shows: {line}"
            del lines[matches[0]]
    return None if more_may_come or not lines else f"the page does not show: {lines[0]}"


class Shell:
    """A shell in which the blocks of a page are typed."""

    def __init__(self, folder):
        self.folder = folder
        self.output = folder / "output"
        (folder / "bin").mkdir()
        (folder / "home").mkdir()
        self.place = folder / "here"
        self.place.mkdir()
        os.symlink(LANISTA, folder / "bin/lanista")
        for name, text in (("cmake", CMAKE), ("ctest", CTEST)):
            (folder / "bin" / name).write_text(text)
            (folder / "bin" / name).chmod(0o755)
        environment = {
            "PATH": f"{folder}/bin:/usr/bin:/bin",
            "HOME": str(folder / "home"),
            "TMPDIR": str(folder),
            "MY_SEARCH": MY_SEARCH,
            "LC_ALL": "C.UTF-8",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        with open(self.output, "wb") as output:
            self.process = subprocess.Popen(
                ["bash", "-e"],
                cwd=self.place, env=environment, stdin=subprocess.PIPE, stdout=output, stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.done = 0

    def printed(self, start):
        """What was printed, as a reader would see it at home."""
        text = self.output.read_bytes()[start:].decode("utf-8", "replace")
        for folder in ("here", "home"):
            text = text.replace(str(self.folder / folder), "/home/me")
        # Theirs is installed.
        return re.sub(r"^lanista: warning: CMake needs an installed Lanista.*\n", "", text, flags=re.MULTILINE)

    def type(self, text, expected):
        """What the commands print; waits for their end and, where some stay behind, for what they are to print."""
        self.done += 1
        start = self.output.stat().st_size
        script = self.folder / f"block{self.done}"
        end = self.folder / f"end{self.done}"
        script.write_text(text)
        self.process.stdin.write(f". {script} </dev/null\npwd >{end}.new; mv {end}.new {end}\n".encode())
        self.process.stdin.flush()
        deadline = time.monotonic() + SECONDS_FOR_A_BLOCK
        while time.monotonic() < deadline:
            if end.exists():
                self.place = pathlib.Path(end.read_text().strip())
                if expected is None or difference(expected, self.printed(start)) is None:
                    return self.printed(start)
            elif self.process.poll() is not None:
                raise AssertionError(f"this failed:\n{text}\nand printed:\n{self.printed(start)}")
            time.sleep(0.05)
        if end.exists():
            return self.printed(start)
        raise AssertionError(f"this did not end:\n{text}\nand printed:\n{self.printed(start)}")

    def close(self):
        self.process.stdin.close()
        # The heads and nodes of the page; trial processes end with them.
        try:
            os.killpg(self.process.pid, signal.SIGTERM)
        except ProcessLookupError:
            pass
        self.process.wait()
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                os.killpg(self.process.pid, 0)
            except ProcessLookupError:
                return
            time.sleep(0.05)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return str(listener.getsockname()[1])


class Tutorial(unittest.TestCase):
    def follow(self, name):
        """Does what the page says."""
        folder = pathlib.Path(tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR")))
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        page = ROOT / "docs/tutorial" / name
        shell = Shell(folder)
        self.addCleanup(shell.close)
        # Another head may listen where the page's does.
        port = free_port()
        steps = list(blocks(page))
        for number, block in enumerate(steps):
            if block.language == "sh":
                follows = steps[number + 1] if number + 1 < len(steps) else None
                stays = " &\n" in block.text
                shown = follows is not None and follows.language == "text"
                # What stays behind may print later; --write leaves it as it is.
                expected = follows.text if shown and (stays or not WRITE) else None
                printed = shell.type(block.text.replace("7421", port), expected)
                if WRITE and shown and not stays:
                    text = page.read_text(encoding="utf-8")
                    new = printed.replace(port, "7421")
                    page.write_text(text.replace(f"```text\n{follows.text}```", f"```text\n{new}```", 1))
                elif expected is not None:
                    self.assertIsNone(difference(expected, printed), f"{block.text}\nprinted this:\n{printed}")
            elif block.language != "text" and block.file:
                path = shell.place / block.file
                if path.exists():
                    self.assertIn(block.text.strip(), path.read_text(encoding="utf-8"), f"{name} shows {block.file}")
                else:
                    path.write_text(block.text, encoding="utf-8")

    def test_first_search(self):
        self.follow("1_first_search.md")

    def test_own_space(self):
        self.follow("2_own_space.md")

    def test_own_data(self):
        self.follow("3_own_data.md")

    def test_own_strategy(self):
        self.follow("4_own_strategy.md")

    def test_cluster(self):
        self.follow("5_cluster.md")

    def test_inference(self):
        self.follow("6_inference.md")

    def test_every_page_is_followed(self):
        pages = {os.path.basename(page) for page in glob.glob(str(ROOT / "docs/tutorial/[0-9]*.md"))}
        source = pathlib.Path(__file__).read_text(encoding="utf-8")
        self.assertEqual(pages, set(re.findall(r'follow\("([^"]+)"\)', source)))


class Comparison(unittest.TestCase):
    """What counts as the same output."""

    def test_numbers_ids_and_spaces_may_differ(self):
        shown = "net-k3f9  DONE\nbest 0.97   in 12s\n"
        self.assertIsNone(difference(shown, "net-abcd DONE\n\nbest 0.5 in 1m02s\n"))

    def test_words_may_not(self):
        self.assertEqual(difference("size: 18\nx is fine.\n", "size: 18\nx can run.\n"), "the page shows: x is fine.")
        self.assertEqual(difference("size: 18\n", "size: 18\nmore\n"), "the page does not show: more")
        self.assertIsNotNone(difference("a\na\n", "a\nb\n"))

    def test_lines_come_in_any_order(self):
        self.assertIsNone(difference("a\nb\n", "b\na\n"))

    def test_dots_stand_for_any_lines(self):
        self.assertIsNone(difference("...\nb\n", "a\nb\nc\n"))
        self.assertIsNotNone(difference("...\nd\n", "a\nb\nc\n"))


if __name__ == "__main__":
    unittest.main()
