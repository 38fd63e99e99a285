"""Names of the checkpoint files in a job's folder: for each step one of the tensors and one of the updater's state."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

from netpart.errors import DataError, clip_text, os_error_text

_NAME = re.compile(r"step(\d{8,})\.safetensors", re.ASCII)
_PARTIAL = re.compile(r"(?:step\d{8,}|best)\.(safetensors|updater)\.partial", re.ASCII)


def step_file(folder: Path, step: int) -> Path:
    """The path of a step's checkpoint, e.g. ``folder/step00000100.safetensors``."""
    return folder / f"step{step:08d}.safetensors"


def best_file(folder: Path) -> Path:
    """The path of the checkpoint of the best validation. It has no step in its name, so no run resumes from it."""
    return folder / "best.safetensors"


def updater_file(path: Path) -> Path:
    """The path of the updater's state, in the folder of its checkpoint."""
    return path.with_suffix(".updater")


def parse_step(path: Path) -> int:
    """The step number in a checkpoint's file name. Raises DataError if the name has none."""
    found = _NAME.fullmatch(path.name)
    if not found:
        raise DataError(f"{path}: expected a name like {step_file(Path(), 100)}, got {clip_text(path.name)}; rename it")
    return int(found[1])


def list_checkpoints(folder: Path) -> list[Path]:
    """The finished checkpoints in a folder, sorted by step. Raises DataError for a folder that cannot be read."""
    # By number: names have more than 8 digits from step 100 000 000 on, and would then sort wrongly as text.
    return sorted((path for path in _folder_files(folder) if _NAME.fullmatch(path.name)), key=parse_step)


def latest_checkpoint(folder: Path) -> Path | None:
    """The finished checkpoint of the highest step in a folder, or None. Raises DataError as ``list_checkpoints``."""
    return next(reversed(list_checkpoints(folder)), None)


def remove_checkpoint(path: Path) -> None:
    """Remove a checkpoint, then its updater's state. Raises DataError if that is not allowed."""
    # In the other order, a crash in between would leave a checkpoint that seems to have no updater state.
    _remove_file(path)
    remove_updater_file(path)


def remove_updater_file(path: Path) -> None:
    """Remove the updater's state of a checkpoint, if there is any. Raises DataError if that is not allowed."""
    _remove_file(updater_file(path))


def remove_partial_files(folder: Path) -> None:
    """Remove the unfinished files of a run that was killed; to be called only while no other run uses the folder."""
    with suppress(OSError, DataError):  # a file that cannot be removed is replaced, or reported, when it is in the way
        for path in _folder_files(folder):
            if _PARTIAL.fullmatch(path.name):
                path.unlink()


def _remove_file(file: Path) -> None:
    """Remove ``file`` if it exists. Raises DataError if that is not allowed."""
    try:
        file.unlink(missing_ok=True)
    except OSError as error:
        hint = "allow it, and go on with --resume"
        raise DataError(f"{file}: expected to remove it, got {os_error_text(error)}; {hint}") from error


def _folder_files(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise DataError(
            f"{folder}: expected a folder of checkpoints, got {os_error_text(error)}; name another one"
        ) from error
