"""Judged metrics: what early_stop, checkpoint_best and kPlateau watch, and the faults of these settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from netpart.choices import TEST, TRAIN, VALIDATION
from netpart.errors import ConfigError, FaultList, FieldPath
from netpart.proto.job_pb2 import Phase
from netpart.proto.phase import PHASE_VALUES
from netpart.proto.updater_pb2 import ChangeMethod, Improvement

if TYPE_CHECKING:
    from netpart.graph.partition import Partition
    from netpart.proto.job_pb2 import JobProto

STOP, BEST, RATE = "stop", "best", "rate"
"""What a judged metric decides: the end of the run, the best checkpoint, the learning rate."""
GAINS = ("accuracy", "sensitivity", "specificity", "auc", "precision", "recall", "f1", "dice", "iou")
"""Figures of which larger values are better. Of all others smaller ones are, unless the job sets a mode."""
_PLATEAU: FieldPath = ("updater", "learning_rate", "plateau_conf")


@dataclass(frozen=True)
class JudgedMetric:
    """A metric that is judged after each run of ``phase``: an improvement is a change by more than ``least_change``."""

    decides: str
    phase: str
    name: str
    larger: bool
    least_change: float = 0.0
    patience: int = 1
    cooldown: int = 0


def find_judged_metrics(partition: Partition) -> list[JudgedMetric]:
    """The judged metrics of a job, at most one per decision. Raises ConfigError for all faults of their settings."""
    faults = FaultList()
    found = []
    for asks, read in _SETTINGS:
        with faults.collecting():
            found += [read(partition)] if TRAIN in partition.phases and asks(partition.job) else []
    faults.raise_found()
    return found


def find_judging_faults(partition: Partition) -> Iterator[ConfigError]:
    """The faults of the settings that ``find_judged_metrics`` reads, each located in the job."""
    try:
        find_judged_metrics(partition)
    except ConfigError as error:
        for fault in error.faults:
            if isinstance(fault, ConfigError):
                yield fault


def _asks_for_plateau(job: JobProto) -> bool:
    """True if the learning rate depends on a metric."""
    return job.updater.learning_rate.type == ChangeMethod.kPlateau


def _read_early_stop(partition: Partition) -> JudgedMetric:
    """The metric of ``early_stop``."""
    conf = partition.job.early_stop
    at: FieldPath = ("early_stop",)
    if not conf.HasField("patience"):
        hint = "write patience: 5, say: validations without improvement after which the run ends"
        raise ConfigError("early_stop", "a patience", "none", hint, at=at)
    phase = _chosen_phase(partition, at, conf.phase if conf.HasField("phase") else None)
    name = _metric_name(partition, phase, conf.metric, (*at, "metric") if conf.metric else at)
    return JudgedMetric(STOP, phase, name, _is_larger_better(conf, name), conf.least_change, conf.patience)


def _read_best(partition: Partition) -> JudgedMetric:
    """The metric of ``checkpoint_best``: a name, after which MIN or MAX may follow."""
    at: FieldPath = ("checkpoint_best",)
    wanted, _, mode = partition.job.checkpoint_best.strip().partition(" ")
    phase = _chosen_phase(partition, at)
    name = _metric_name(partition, phase, wanted, at)
    if mode.strip() not in ("", *Improvement.Mode.keys()):
        raise ConfigError("checkpoint_best", "MIN or MAX after the metric", mode, f'write "{name} MAX", say', at=at)
    return JudgedMetric(BEST, phase, name, mode.strip() == "MAX" if mode else _is_gain(name))


def _read_plateau(partition: Partition) -> JudgedMetric:
    """The metric of kPlateau. Its numbers are checked by the updater."""
    conf = partition.job.updater.learning_rate.plateau_conf
    phase = _chosen_phase(partition, _PLATEAU)
    name = _metric_name(partition, phase, conf.metric, (*_PLATEAU, "metric") if conf.metric else _PLATEAU)
    larger = _is_larger_better(conf, name)
    return JudgedMetric(RATE, phase, name, larger, conf.least_change, conf.patience, conf.cooldown)


def _chosen_phase(partition: Partition, at: FieldPath, wanted: Phase | None = None) -> str:
    """The phase after which a metric is judged: ``wanted``, or else the validation if there is one, or the tests."""
    who = ".".join(map(str, at))
    names = {PHASE_VALUES[phase]: phase for phase in (VALIDATION, TEST)}
    if wanted is not None and wanted not in names:
        raise ConfigError(
            who, "phase kVal or kTest", Phase.Name(wanted), "omit phase to take what is there", at=(*at, "phase")
        )
    scheduled = [phase for phase in (VALIDATION, TEST) if _is_scheduled(partition, phase)]
    fitting = [phase for phase in scheduled if wanted is None or names[wanted] == phase]
    if not fitting:
        kind = "test" if wanted == PHASE_VALUES[TEST] else "validate"
        what = "a test" if kind == "test" else "a validation" if wanted else "a validation, or tests,"
        hint = f"add {kind}_freq: 100, {kind}_steps: 10 and layers for that phase"
        raise ConfigError(who, f"{what} during the training to judge by", "none", hint, at=at)
    return fitting[0]


def _is_scheduled(partition: Partition, phase: str) -> bool:
    """True if ``phase`` runs during the training."""
    job = partition.job
    return phase in partition.phases and (job.validate_freq if phase == VALIDATION else job.test_freq) > 0


def _metric_name(partition: Partition, phase: str, wanted: str, at: FieldPath) -> str:
    """The metric ``wanted``, or that of the loss; raise ConfigError if no layer of ``phase`` reports it."""
    nodes = partition.phases[phase][-1].graph.net.nodes
    names = [f"{node.name}/{figure}" for node in nodes for figure in node.layer.figure_names]
    losses = [f"{node.name}/loss" for node in nodes if node.layer.is_loss]
    found = [name for name in ([wanted] if wanted else losses) if name in names]
    if not found:
        hint = f"phase {phase} reports {', '.join(names) or 'nothing'}"
        raise ConfigError(".".join(map(str, at)), "a metric that a layer reports", wanted or "no loss", hint, at=at)
    return found[0]


def _is_larger_better(conf: Any, name: str) -> bool:
    """True if larger values of the metric ``name`` are better, by the mode of ``conf`` or by the metric."""
    return bool(conf.mode == Improvement.MAX) if conf.HasField("mode") else _is_gain(name)


def _is_gain(name: str) -> bool:
    """True for a metric of which larger values are better by its name."""
    return name.rpartition("/")[2] in GAINS


_Setting = tuple[Callable[["JobProto"], bool], Callable[["Partition"], JudgedMetric]]
_SETTINGS: tuple[_Setting, ...] = (
    (_asks_for_plateau, _read_plateau),
    (lambda job: job.HasField("checkpoint_best"), _read_best),
    (lambda job: job.HasField("early_stop"), _read_early_stop),
)
