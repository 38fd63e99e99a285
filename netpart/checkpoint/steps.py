"""Names of checkpoints in a job's folder: one file per step."""

from __future__ import annotations

import re
from pathlib import Path

from netpart.errors import DataError

_NAME = re.compile(r"step(\d{8,})\.safetensors", re.ASCII)


def step_file(folder: Path, step: int) -> Path:
    """Where the checkpoint of a step lies, e.g. ``folder/step00000100.safetensors``."""
    return folder / f"step{step:08d}.safetensors"


def parse_step(path: Path) -> int:
    """The step that a checkpoint's name says. Raises DataError if it says none."""
    found = _NAME.fullmatch(path.name)
    if not found:
        raise DataError(f"{path}: expected a name like {step_file(Path(), 100)}, got {path.name}; rename it")
    return int(found[1])


def latest(folder: Path) -> Path | None:
    """The finished checkpoint of the highest step in a folder, None if there is none."""
    if not folder.is_dir():
        return None
    return max((path for path in folder.iterdir() if _NAME.fullmatch(path.name)), key=parse_step, default=None)
