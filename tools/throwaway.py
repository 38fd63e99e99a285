"""Environments that live as long as a task: what it needs stays nowhere, and disturbs nothing that is installed."""

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
    """The interpreter of a new environment that holds ``requirements``, what they ask for, and nothing else.

    A requirement is anything that pip takes, options included. Raises RuntimeError, with what pip says, if it fails.
    """
    with TemporaryDirectory(prefix="netpart-environment-") as folder:
        venv.create(folder, symlinks=True)
        python = Path(folder) / "bin" / "python"
        pip("--python", str(python), "install", *requirements)
        yield python


def pip(*arguments: str) -> str:
    """What pip writes to stdout. Raises RuntimeError, with what it says, if it fails."""
    call = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments]
    done = subprocess.run(call, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        said = "\n".join(line for line in done.stderr.splitlines() if not line.startswith("WARNING"))
        raise RuntimeError(f"pip {' '.join(arguments)}: {said}")
    return done.stdout


def extra(name: str) -> list[str]:
    """The requirements of one of the extras in setup.cfg, as they stand there."""
    read = ConfigParser()
    read.read(ROOT / "setup.cfg", encoding="utf-8")
    return read["options.extras_require"][name].split("\n")[1:]
