"""Names of checkpoints in a job's folder: one file per step, and one for the state of the updater beside it."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

from netpart.errors import DataError, clip_text, os_error_text

_NAME = re.compile(r"step(\d{8,})\.safetensors", re.ASCII)
_PARTIAL = re.compile(r"step\d{8,}\.(safetensors|updater)\.partial", re.ASCII)


def step_file(folder: Path, step: int) -> Path:
    """Where the checkpoint of a step lies, e.g. ``folder/step00000100.safetensors``."""
    return folder / f"step{step:08d}.safetensors"


def updater_file(path: Path) -> Path:
    """Where the updater's state lies beside a checkpoint."""
    return path.with_suffix(".updater")


def parse_step(path: Path) -> int:
    """The step that a checkpoint's name says. Raises DataError if it says none."""
    found = _NAME.fullmatch(path.name)
    if not found:
        raise DataError(f"{path}: expected a name like {step_file(Path(), 100)}, got {clip_text(path.name)}; rename it")
    return int(found[1])


def list_checkpoints(folder: Path) -> list[Path]:
    """The finished checkpoints in a folder, by their steps. Raises DataError for a folder that cannot be read."""
    return sorted((path for path in _folder_files(folder) if _NAME.fullmatch(path.name)), key=parse_step)


def latest_checkpoint(folder: Path) -> Path | None:
    """The finished checkpoint of the highest step in a folder, None if there is none. Raises as
    ``list_checkpoints``."""
    return next(reversed(list_checkpoints(folder)), None)


def remove_checkpoint(path: Path) -> None:
    """Removes a checkpoint, its updater's state last: without it a checkpoint would seem to have none."""
    for file in (path, updater_file(path)):
        try:
            file.unlink(missing_ok=True)
        except OSError as error:
            hint = "allow it, and go on with --resume"
            raise DataError(f"{file}: expected to remove it, got {os_error_text(error)}; {hint}") from error


def remove_partial_files(folder: Path) -> None:
    """Removes what a run that was killed left half written; only for who has the folder to himself."""
    with suppress(OSError, DataError):  # what cannot be removed is replaced, or reported, where it is in the way
        for path in _folder_files(folder):
            if _PARTIAL.fullmatch(path.name):
                path.unlink()


def _folder_files(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise DataError(
            f"{folder}: expected a folder of checkpoints, got {os_error_text(error)}; name another one"
        ) from error
