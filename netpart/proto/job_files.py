"""Files that hold jobs, by the endings of their names."""

from __future__ import annotations

from pathlib import Path

JOB_ENDINGS = (".conf", ".textproto", ".pbtxt")
"""A job that is named may have any ending; in folders and hints these are jobs."""


def jobs_below(folder: Path) -> list[Path]:
    """The jobs in ``folder`` and all folders below it, sorted."""
    return sorted(path for path in folder.rglob("*") if path.suffix in JOB_ENDINGS and path.is_file())


def without_job_ending(name: str) -> str:
    """``name`` without the ending of a job."""
    return next((name.removesuffix(ending) for ending in JOB_ENDINGS if name.endswith(ending)), name)
