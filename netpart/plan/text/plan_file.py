"""Files of plans: written as a whole or not at all, and never over a job that a person wrote."""

from __future__ import annotations

from pathlib import Path

from netpart.data.atomic_file import atomic_file
from netpart.errors import ConfigError
from netpart.files import open_file
from netpart.proto.comments import OWN


def save_plan_file(path: Path, text: str) -> None:
    """Write the plan ``text`` to ``path``. The file may be the plan that is being run: it is replaced at once."""
    with atomic_file(path) as file:
        file.write(text.encode())


def check_plan_file(path: Path) -> None:
    """Raise ConfigError if the folder of ``path`` does not exist, or if ``path`` is a file that is not a plan.

    Only plans are overwritten, never a job that a person wrote.
    """
    if not path.parent.is_dir():
        raise ConfigError(str(path), "a file in a folder that exists", f"no folder {path.parent}", "make it first")
    if path.exists() and not _is_plan_file(path):
        raise ConfigError(str(path), "no file or an older plan", "something else", "choose another name")


def _is_plan_file(path: Path) -> bool:
    """True for a file that begins with netpart's comment mark, as every plan does."""
    try:
        with open_file(path) as file:
            return file.read(len(OWN.encode())) == OWN.encode()
    except OSError:
        return False
