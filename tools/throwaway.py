"""Temporary environments for one task: its packages are removed afterwards and change no other environment."""

from __future__ import annotations

import subprocess
import sys
import venv
from collections.abc import Iterator
from configparser import ConfigParser
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent


@contextmanager
def environment(*requirements: str) -> Iterator[Path]:
    """The interpreter of a new environment that has ``requirements``, their dependencies, and nothing else.

    A requirement is any argument of pip, including options. Raises RuntimeError, with pip's message, if it fails.
    """
    with TemporaryDirectory(prefix="netpart-environment-") as folder:
        venv.create(folder, symlinks=True)
        python = Path(folder) / "bin" / "python"
        pip("--python", str(python), "install", *requirements)
        yield python


def pip(*arguments: str) -> str:
    """Run pip and return its stdout. Raises RuntimeError, with its message, if it fails."""
    call = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments]
    done = subprocess.run(call, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        message = "\n".join(line for line in done.stderr.splitlines() if not line.startswith("WARNING"))
        raise RuntimeError(f"pip {' '.join(arguments)}: {message}")
    return done.stdout


def extra(name: str) -> list[str]:
    """The requirements of one of the extras in setup.cfg, as they are written there."""
    read = ConfigParser()
    read.read(ROOT / "setup.cfg", encoding="utf-8")
    return read["options.extras_require"][name].split("\n")[1:]
