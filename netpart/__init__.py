"""netpart cuts a neural net, layer by layer, over workers: shows the cut, proves it and trains it.

    job = netpart.load("job.conf")
    netpart.build(job)                  the uncut net; a notebook draws it
    netpart.partition(job, workers=3)   the net cut over workers; a notebook draws it
    netpart.run(job, workers=3)         trains it on that many processes

What these raise on purpose is a NetpartError; a ConfigError, DataError or WorkerFailed says more.
Importing netpart imports nothing large: every call imports what it needs.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from netpart.graph.notebook import set_notebook_drawing

if TYPE_CHECKING:
    from os import PathLike

    from netpart.errors import ConfigError, DataError, NetpartError, WorkerFailed
    from netpart.graph.net import Net
    from netpart.graph.partition import Partition
    from netpart.launch.report.events import Listener, Summary
    from netpart.proto.reader import Job

    __version__: str
    JobOrPath = Job | str | PathLike[str]

__all__ = [
    "ConfigError",
    "DataError",
    "NetpartError",
    "WorkerFailed",
    "__version__",
    "build",
    "load",
    "partition",
    "run",
]


def load(path: str | PathLike[str], overrides: str | Iterable[str] = ()) -> Job:
    """Reads the job in file ``path`` and applies ``overrides``, one or several, written as for ``--set``.

    Raises ConfigError that says where in the file, what was expected, what came and the next step.
    """
    from pathlib import Path

    from netpart.proto import reader

    return reader.read_job(Path(path), [overrides] if isinstance(overrides, str) else overrides)


def build(job: JobOrPath, phase: str = "train") -> Net:
    """Builds the uncut net of ``phase`` (train, val or test), with all shapes known.

    Raises ConfigError for another phase and for a net that cannot be built as it is written, DataError for data it
    needs to know shapes.
    """
    from netpart.errors import ConfigError
    from netpart.graph.build import build_net
    from netpart.proto.phase import PHASES

    if phase not in PHASES:
        raise ConfigError("phase", "train, val or test", repr(phase))
    job = _read(job)
    with job.explaining():
        return build_net(job.proto, phase, job.folder)


def partition(
    job: JobOrPath, workers: int | None = None, scheme: str | None = None, *, override: bool = False
) -> Partition:
    """Cuts the nets of all phases over ``workers`` workers (default: as many as the job asks for).

    ``scheme`` places all layers at once (default: as the job says), e.g. "COLUMN_ROW"; docs/schemes.md has them. It
    leaves alone what has a cut of its own, and warns if that is every layer; ``override`` replaces these cuts.
    Raises what ``build`` raises, ConfigError for a cut or location that cannot be, and TypeError for workers that are
    no whole number.
    """
    from netpart.plan.partition import partition_by_scheme

    workers = _count(workers)
    job = _placed(_read(job), scheme, override)
    with job.explaining():
        return partition_by_scheme(job.proto, job.worker_count if workers is None else workers, job.folder)


def run(
    job: JobOrPath, workers: int | None = None, *, launcher: str = "local", listener: Listener | None = None,
    steps: int | None = None, workspace: str | PathLike[str] | None = None, scheme: str | None = None,
    override: bool = False,
) -> Summary:  # fmt: skip
    """Trains, tests and saves ``job``, and returns a Summary: loss, accuracy, seconds, bytes moved.

    ``launcher``: "local" starts a process per worker, "threads" runs them in this process. ``listener`` hears every
    measurement, ``steps`` is the number of training steps (default: the job's), ``workspace`` the folder of checkpoints
    and metrics, ``scheme`` and ``override`` are those of ``partition``. Raises what ``partition`` raises, ConfigError
    for a job without a loss or a number of steps, and WorkerFailed, which names worker, layer and step.
    """
    from pathlib import Path

    from netpart.launch.run import run_job

    folder = None if workspace is None else Path(workspace)
    workers = _count(workers)
    job = _placed(_read(job), scheme, override)
    if steps is not None:
        job.proto.train_steps = _steps(steps)
    with job.explaining():
        return run_job(job, workers, launcher=launcher, listener=listener, workspace=folder)


def _count(workers: int | None) -> int | None:
    """``workers`` as an int; raises TypeError for anything else."""
    return None if workers is None else _whole("workers", workers)


def _steps(steps: int) -> int:
    """``steps`` as a JobProto has it; raises TypeError for no whole number, ConfigError for one out of range."""
    from netpart.errors import ConfigError

    if not 0 <= (whole := _whole("steps", steps)) < 2**31:
        raise ConfigError("steps", "a number from 0 to 2147483647", str(steps))
    return whole


def _whole(name: str, number: object) -> int:
    from operator import index

    try:
        return index(number)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{name}: expected a whole number, got {number!r}") from None


def _read(job: JobOrPath) -> Job:
    """The job; warns of layers that no phase of it could compute."""
    from os import PathLike
    from warnings import warn

    from netpart.graph.uncomputed import uncomputed_warnings
    from netpart.proto.reader import Job

    if isinstance(job, str | PathLike):
        job = load(job)
    if not isinstance(job, Job):
        raise TypeError(f"expected a job, as netpart.load returns it, or the path of one, got {job!r}")
    for warning in uncomputed_warnings(job):
        warn(warning, stacklevel=3)
    return job


def _placed(job: Job, scheme: str | None, override: bool) -> Job:
    """The job with that scheme; warns of what in it has little effect."""
    from dataclasses import replace
    from warnings import warn

    from netpart.graph.unheeded import ineffective_warnings
    from netpart.plan.partition import with_scheme

    placed = replace(job, proto=with_scheme(job.proto, scheme, override))
    for warning in ineffective_warnings(placed.proto):
        warn(warning, stacklevel=3)
    return placed


def _draw(shown: Net | Partition) -> str | None:
    from netpart.draw import render
    from netpart.errors import NetpartError
    from netpart.graph.partition import Partition

    with suppress(NetpartError):  # without a Graphviz a notebook prints its name
        return render(shown.graph if isinstance(shown, Partition) else shown, "svg")
    return None


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from netpart.resources import installed_version

        return installed_version()
    if name in __all__:
        from netpart import errors

        return getattr(errors, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__


set_notebook_drawing(_draw)
