"""netpart cuts a neural net, layer by layer, over workers. It draws the cut, verifies it and trains the net.

    job = netpart.load("job.conf")
    netpart.build(job)                  the uncut net; a notebook draws it
    netpart.partition(job, workers=3)   the net cut over 3 workers; a notebook draws it
    netpart.run(job, workers=3)         train it on 3 worker processes
    netpart.evaluate(job)               test it from its newest checkpoint
    netpart.predict(job, input=rows)    the classes of rows, from its newest checkpoint

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
    from pathlib import Path

    from numpy.typing import NDArray

    from netpart.errors import ConfigError, DataError, NetpartError, WorkerFailed
    from netpart.graph.net import Net
    from netpart.graph.partition import Partition
    from netpart.launch.report.events import Listener, Summary
    from netpart.launch.run import LaunchChoice
    from netpart.proto.reader import Job
    from netpart.trained.array_source import Source

    __version__: str
    JobOrPath = Job | str | PathLike[str]

__all__ = [
    "ConfigError",
    "DataError",
    "NetpartError",
    "WorkerFailed",
    "__version__",
    "build",
    "evaluate",
    "load",
    "partition",
    "predict",
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


def evaluate(
    job: JobOrPath, checkpoint: str | PathLike[str] | None = None, workers: int | None = None, *, phase: str = "test",
    steps: int | None = None, launcher: str = "local", listener: Listener | None = None,
    workspace: str | PathLike[str] | None = None,
) -> Summary:  # fmt: skip
    """Play the test or validation phase of ``job`` from ``checkpoint`` (default: the newest of its workspace).

    Returns a Summary; its ``test`` or ``validation`` are the metrics, by names such as "loss/accuracy". ``steps`` is
    the number of mini-batches (default: the job's test_steps or validate_steps). Nothing is trained, and no checkpoint
    is written. The other arguments are those of ``run``; ``workspace`` is the folder of logs and metrics. Raises
    ConfigError for a job without this phase, DataError for a checkpoint that is missing, damaged or of another net, and
    what ``run`` raises.
    """
    from netpart.choices import TEST, VALIDATION
    from netpart.errors import ConfigError
    from netpart.launch.evaluate import EvaluatedPhase, evaluate_job

    if phase not in (TEST, VALIDATION):
        raise ConfigError("phase", f"{TEST} or {VALIDATION}", repr(phase), "pass one of them")
    steps = None if steps is None else _steps(steps)
    workers = _count(workers)
    job, saved, choice, folder = _trained(_read(job), checkpoint, launcher, workspace)
    played = EvaluatedPhase(phase, steps, workspace=folder)
    with job.explaining():
        return evaluate_job(job, saved, played, workers=workers, choice=choice, listener=listener)


def predict(
    job: JobOrPath, checkpoint: str | PathLike[str] | None = None, input: Source = None, workers: int | None = None, *,
    layer: str = "", probabilities: bool = False, rows: int | None = None, launcher: str = "local",
    listener: Listener | None = None, workspace: str | PathLike[str] | None = None,
) -> NDArray[Any]:  # fmt: skip
    """Return what the net of ``checkpoint`` (default: the newest of the workspace) computes for the rows of ``input``.

    ``input``: a file or URL, as for ``netpart predict --input``; an array (rows, *sample) of the values that the net
    reads; or None for the job's own test data. ``rows`` is the number of rows (default: all). The result, in the order
    of the rows: classes, int32, (rows,) or (rows, *places); with ``probabilities`` (rows, classes) or (rows, *places,
    classes); with ``layer`` the values of the first output of that layer, (rows, ...). Numbers have the dtype of the
    job. The other arguments are those of ``run``. Raises ConfigError and DataError for an input, a layer or a
    checkpoint that does not fit the job, and what ``run`` raises.
    """
    from netpart.errors import ConfigError
    from netpart.trained.array_source import open_source
    from netpart.trained.prediction import predict_array
    from netpart.trained.prediction_job import PredictionRequest

    if rows is not None and (rows := _whole("rows", rows)) < 1:
        raise ConfigError("rows", "1 or more", str(rows), "pass another number")
    workers = _count(workers)
    job, saved, choice, folder = _trained(_read(job), checkpoint, launcher, workspace)
    with job.explaining(), open_source(job, input) as source:
        request = PredictionRequest(source, layer, rows)
        return predict_array(
            job, saved, request, probabilities, workers=workers, choice=choice, listener=listener, workspace=folder
        )


def _trained(
    job: Job, checkpoint: str | PathLike[str] | None, launcher: str, workspace: str | PathLike[str] | None
) -> tuple[Job, Path, LaunchChoice, Path | None]:
    """The job in one group of workers, its checkpoint, how to launch it, and the folder of its logs."""
    from dataclasses import replace
    from pathlib import Path

    from netpart.launch.report.workspace import newest_checkpoint
    from netpart.launch.run import LaunchChoice
    from netpart.proto.cluster import single_group_job

    saved = newest_checkpoint(job.proto) if checkpoint is None else Path(checkpoint)
    # Groups and servers are for training.
    job = replace(job, proto=single_group_job(job.proto))
    return job, saved, LaunchChoice(launcher), None if workspace is None else Path(workspace)


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
