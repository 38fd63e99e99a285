"""netpart cuts a neural net, layer by layer, over workers. It draws the cut, verifies it and trains the net.

    job = netpart.load("job.conf")
    netpart.build(job)                  the uncut net; a notebook draws it
    netpart.partition(job, workers=3)   the net cut over 3 workers; a notebook draws it
    netpart.run(job, workers=3)         train it on 3 worker processes

Every error that netpart raises on purpose is a NetpartError. Its subclasses ConfigError, DataError and WorkerFailed
give more detail. Importing netpart imports nothing large: each function imports what it needs when it is called.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from netpart.graph.notebook_display import set_notebook_drawing

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
    """Read the job in file ``path`` and apply ``overrides``: one or several, written as for ``--set``.

    Raises ConfigError with the position in the file, what was expected, what was found and the next step.
    """
    from pathlib import Path

    from netpart.proto import reader

    return reader.read_job(Path(path), [overrides] if isinstance(overrides, str) else overrides)


def build(job: JobOrPath, phase: str = "train") -> Net:
    """Build the uncut net of ``phase`` (train, val or test), with all shapes inferred.

    Raises ConfigError for an unknown phase and for a net that cannot be built as it is written. Raises DataError if
    data files that determine shapes are missing or wrong.
    """
    from netpart.errors import ConfigError
    from netpart.graph.build import build_net
    from netpart.proto.phase import PHASE_VALUES

    if phase not in PHASE_VALUES:
        raise ConfigError("phase", "train, val or test", repr(phase), "pass one of them")
    job = _read(job)
    with job.explaining():
        return build_net(job.proto, phase, job.folder)


def partition(
    job: JobOrPath, workers: int | None = None, scheme: str | None = None, *, override: bool = False
) -> Partition:
    """Cut the nets of all phases over ``workers`` workers (default: the number that the job asks for).

    ``scheme`` places all layers at once (default: the job's scheme), e.g. "COLUMN_ROW"; docs/schemes.md lists them. A
    scheme keeps the layers that have a cut of their own, and warns if that is every layer. ``override`` replaces these
    cuts. Raises what ``build`` raises, ConfigError for an impossible cut or location, and TypeError if ``workers`` is
    not a whole number.
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
    """Train, test and save ``job``, and return a Summary: loss, accuracy, seconds, bytes moved.

    ``launcher``: "local" starts one process per worker, "threads" runs the workers in this process. ``listener`` is
    called with every event of the run. ``steps`` is the number of training steps (default: the job's). ``workspace`` is
    the folder of checkpoints and metrics. ``scheme`` and ``override`` are those of ``partition``. Raises what
    ``partition`` raises, ConfigError for a job without a loss or a number of steps, and WorkerFailed, which names the
    worker, the layer and the step.
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
    """``workers`` as an int, or None; raises TypeError for anything else."""
    return None if workers is None else _whole("workers", workers)


def _steps(steps: int) -> int:
    """``steps`` as an int32. Raises TypeError if it is not a whole number, ConfigError if it is out of range."""
    from netpart.errors import ConfigError

    # train_steps is an int32 field: without this check protobuf would raise a ValueError that names no option.
    if not 0 <= (whole := _whole("steps", steps)) < 2**31:
        raise ConfigError("steps", "a number from 0 to 2147483647", str(steps), "pass another number")
    return whole


def _whole(name: str, number: object) -> int:
    from operator import index  # unlike int(), it takes NumPy's integers but refuses 2.5 and "3"

    try:
        return index(number)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{name}: expected a whole number, got {number!r}") from None


def _read(job: JobOrPath) -> Job:
    """Return ``job``, read from its file if it is a path. Warn of layers that none of its phases can compute."""
    from os import PathLike
    from warnings import warn

    from netpart.graph.uncomputed import uncomputed_warnings
    from netpart.proto.reader import Job

    if isinstance(job, str | PathLike):
        job = load(job)
    if not isinstance(job, Job):
        raise TypeError(f"expected a job, as netpart.load returns it, or the path of one, got {job!r}")
    # stacklevel 3: this function, the public function that called it, and then the line of the user's program.
    for warning in uncomputed_warnings(job):
        warn(warning, stacklevel=3)
    return job


def _placed(job: Job, scheme: str | None, override: bool) -> Job:
    """Return a copy of ``job`` with ``scheme`` applied. Warn of settings in it that have little or no effect."""
    from dataclasses import replace
    from warnings import warn

    from netpart.graph.ineffective_settings import ineffective_warnings
    from netpart.plan.partition import with_scheme

    # with_scheme returns a new JobProto: the caller's job must stay as it was loaded, to be used again.
    placed = replace(job, proto=with_scheme(job.proto, scheme, override))
    for warning in ineffective_warnings(placed.proto):
        warn(warning, stacklevel=3)
    return placed


def _draw(shown: Net | Partition) -> str | None:
    from netpart.draw import render
    from netpart.errors import NetpartError
    from netpart.graph.partition import Partition

    with suppress(NetpartError):  # without Graphviz the notebook falls back to the object's repr
        return render(shown.graph if isinstance(shown, Partition) else shown, "svg")
    return None


def __getattr__(name: str) -> Any:
    # Module attributes that are computed on first use: importlib.metadata and errors would slow down `import netpart`.
    if name == "__version__":
        from netpart.resources import installed_version

        return installed_version()
    if name in __all__:
        from netpart import errors

        return getattr(errors, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__


# The package graph may not import draw, which is a higher floor (docs/house.md): it gets the function from here.
set_notebook_drawing(_draw)
