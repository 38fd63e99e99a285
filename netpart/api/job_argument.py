"""What users of the Python API pass as a job, a scheme and numbers, checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from operator import index
from os import PathLike
from pathlib import Path
from warnings import warn

from netpart.errors import ConfigError
from netpart.graph.ineffective_settings import ineffective_warnings
from netpart.graph.uncomputed import uncomputed_warnings
from netpart.plan.partition import with_scheme
from netpart.proto.reader import Job, read_job

JobOrPath = Job | str | PathLike[str]
ARGUMENTS = {"--class": "target"}
"""The names of arguments that differ from those of the options."""


@contextmanager
def explained_job(job: Job) -> Iterator[None]:
    """Errors leave the block with their places in ``job``, and name arguments instead of options."""
    with _named_arguments(), job.explaining():
        yield


@contextmanager
def _named_arguments() -> Iterator[None]:
    """Errors about an option of the command line, "--top-k", leave the block as those about an argument, "top_k"."""
    try:
        yield
    except ConfigError as error:
        for fault in error.faults:
            if isinstance(fault, ConfigError) and fault.who.startswith("--") and " " not in fault.who:
                fault.who = ARGUMENTS.get(fault.who) or fault.who.removeprefix("--").replace("-", "_")
        raise


def read_job_argument(job: JobOrPath) -> Job:
    """Return ``job``, read from its file if it is a path. Warn of layers that none of its phases can compute."""
    job = _read_path(job)
    # stacklevel 3: this function, the public function that called it, and then the line of the user's program.
    for warning in uncomputed_warnings(job):
        warn(warning, stacklevel=3)
    return job


def _read_path(job: JobOrPath) -> Job:
    """Return ``job``, read from its file if it is a path."""
    if isinstance(job, str | PathLike):
        return read_job(Path(job))
    if not isinstance(job, Job):
        raise TypeError(f"expected a job, as netpart.load returns it, or the path of one, got {job!r}")
    return job


def place_job(job: JobOrPath, workers: int | None, scheme: str | None, override: bool) -> Job:
    """Return a copy of ``job`` for ``workers`` (None: its own number), with ``scheme`` applied.

    Warn of layers that none of its phases can compute, and of settings in it that have little or no effect. Raises
    TypeError for what is no job or no number, ConfigError for a scheme that cannot be applied.
    """
    workers = None if workers is None else _whole_number("workers", workers)
    read = _read_path(job)
    # with_scheme returns a new JobProto: the caller's job must stay as it was loaded, to be used again.
    proto = with_scheme(read.proto, scheme, override, read.overridden)
    placed = replace(read, proto=proto, workers=read.workers if workers is None else workers)
    for warning in (*uncomputed_warnings(read), *ineffective_warnings(placed.proto)):
        warn(warning, stacklevel=3)
    return placed


def worker_number(workers: int | None) -> int | None:
    """``workers`` as an int, or None; raises TypeError for anything else."""
    return None if workers is None else _whole_number("workers", workers)


def check_choice(name: str, value: str | None, choices: Sequence[str | None]) -> None:
    """Check the argument ``name``: raise ConfigError unless its ``value`` is one of ``choices``."""
    if value not in choices:
        known = " or ".join(choice for choice in choices if choice)
        raise ConfigError(name, known, repr(value), "pass one of them")


def step_number(steps: int) -> int:
    """``steps`` as an int32. Raises TypeError if it is not a whole number, ConfigError if it is out of range."""
    # train_steps is an int32 field: without this check protobuf would raise a ValueError that names no option.
    if not 0 <= (whole := _whole_number("steps", steps)) < 2**31:
        raise ConfigError("steps", "a number from 0 to 2147483647", str(steps), "pass another number")
    return whole


def positive_number(name: str, number: object) -> int:
    """``number`` as an int of 1 or more. Raises TypeError and ConfigError, which have its ``name``."""
    if (whole := _whole_number(name, number)) < 1:
        raise ConfigError(name, "1 or more", str(whole), "pass another number")
    return whole


def _whole_number(name: str, number: object) -> int:
    """``number`` as an int. Raises TypeError, which has its ``name``."""
    try:
        return index(number)  # type: ignore[arg-type]  # unlike int(), it takes NumPy's integers but refuses 2.5, "3"
    except TypeError:
        raise TypeError(f"{name}: expected a whole number, got {number!r}") from None
