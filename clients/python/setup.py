"""What pyproject.toml cannot say: the version, and the messages that protoc makes of protos/ for the client."""

import re
import subprocess
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

PACKAGE = Path(__file__).resolve().parent
CHECKOUT = PACKAGE.parents[1]
VERSION_FILE = CHECKOUT / "src/base/version.h"


class BuildWithMessages(build_py):
    """Adds lanista.protos."""

    def run(self):
        super().run()
        folder = PACKAGE if getattr(self, "editable_mode", False) else Path(self.build_lib).resolve()
        script = CHECKOUT / "scripts/python_stubs.sh"
        if subprocess.run([script, folder]).returncode != 0:
            raise SystemExit(f"{script} failed; it says above what is missing")


if not VERSION_FILE.exists():
    raise SystemExit(f"{VERSION_FILE} is missing: install from a checkout of Lanista, `pip install ./clients/python`")
setup(
    version=re.search(r'kVersion\[\] = "(.*)"', VERSION_FILE.read_text(encoding="utf-8"))[1],
    cmdclass={"build_py": BuildWithMessages},
)
