"""Evaluations: one phase of a job played from a checkpoint, without a training net and without new checkpoints."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from netpart.checkpoint.safetensors_file import open_checkpoint
from netpart.checkpoint.steps import parse_step
from netpart.choices import TEST
from netpart.errors import ConfigError, DataError
from netpart.graph.partition import Partition
from netpart.graph.ready import check_ready
from netpart.launch.control.worker_devices import requested_places
from netpart.launch.coordinator.conversation import RunOptions, TakeValues
from netpart.launch.report.events import Listener, Summary
from netpart.launch.report.run_listeners import RunListeners
from netpart.launch.report.workspace import choose_workspace
from netpart.launch.run import LaunchChoice, play_partition
from netpart.launch.run_options import REPORT_EVERY, check_averages
from netpart.plan.partition import partition_by_scheme
from netpart.proto.cluster import single_group_job
from netpart.proto.job_pb2 import JobProto
from netpart.proto.limits import EXTENT
from netpart.proto.phase import STEP_FIELDS, in_phase
from netpart.proto.updater_pb2 import ChangeMethod, LRGenProto, UpdaterProto, UpdaterType
from netpart.worker.initial_values import check_start, restored_names

if TYPE_CHECKING:
    from netpart.proto.reader import Job


@dataclass(frozen=True)
class EvaluatedPhase:
    """The phase to play, over ``batches`` mini-batches (None: as many as the job sets), and the folder for its files.

    ``folder`` is the name of that folder in the job's workspace; ``workspace`` replaces the whole path.
    """

    phase: str = TEST
    batches: int | None = None
    folder: str = "evaluate"
    workspace: Path | None = None


def evaluate_job(
    job: Job, checkpoint: Path, played: EvaluatedPhase | None = None, *, workers: int | None = None,
    choice: LaunchChoice | None = None, listener: Listener | None = None,
) -> Summary:  # fmt: skip
    """Play a phase of ``job`` with the parameters of ``checkpoint`` on ``workers`` workers; return the Summary.

    With ``updater.ema_eval`` the parameters are the averages next to the checkpoint, as in the tests of a run. Raises
    ConfigError for a job without this phase, DataError for a checkpoint that is damaged or of another net, and else
    what ``netpart.launch.run.run_job`` raises.
    """
    played = played or EvaluatedPhase()
    choice = choice or LaunchChoice()
    count = job.worker_count if workers is None else workers
    choice.check(count)
    cut = partition_evaluation(job, checkpoint, played, count)
    return play_evaluation(job, cut, checkpoint, played, choice, listener)


def partition_evaluation(job: Job, checkpoint: Path, played: EvaluatedPhase, workers: int) -> Partition:
    """Cut the net of the played phase, and no other, over ``workers`` workers. Raises ConfigError, DataError."""
    proto = _evaluation_job(job.proto, played, _checkpoint_step(checkpoint))
    _require_phase(proto, played.phase)
    return partition_by_scheme(proto, workers, job.folder, phases=(played.phase,))


def play_evaluation(
    job: Job, cut: Partition, checkpoint: Path, played: EvaluatedPhase, choice: LaunchChoice,
    listener: Listener | None = None, take: TakeValues | None = None,
) -> Summary:  # fmt: skip
    """Launch the workers of ``cut``; ``take`` receives the values of its result layer, if it has one."""
    check_ready(cut, restored_names(checkpoint))
    averages = job.proto.updater.ema_eval
    if averages:
        check_averages(checkpoint)
    check_start(cut, checkpoint, averages)
    options = RunOptions(
        job.folder,
        played.workspace or choose_workspace(job, None) / played.folder,
        job.proto.seed,
        ",".join(requested_places(job.proto)),
        job.proto.deadline,
        REPORT_EVERY,
        checkpoint.absolute(),
        cut.job.train_steps,
        averages=averages,
        take=take,
    )
    with RunListeners(choice.listeners) as listeners:
        return play_partition(cut, options, choice, listener, listeners)


def _evaluation_job(job: JobProto, played: EvaluatedPhase, step: int) -> JobProto:
    """A copy of ``job`` that trains nothing after ``step`` steps, in one group, and keeps no state of an updater."""
    copy = single_group_job(job)
    rate = LRGenProto(type=ChangeMethod.kFixed)
    copy.updater.CopyFrom(UpdaterProto(type=UpdaterType.kSGD, learning_rate=rate))
    copy.train_steps = step
    copy.resume = False
    copy.ClearField("early_stop")
    copy.ClearField("elastic")
    copy.ClearField("checkpoint_best")
    if played.batches is not None:
        setattr(copy, STEP_FIELDS[played.phase], played.batches)
    return copy


def _require_phase(job: JobProto, phase: str) -> None:
    """Raise ConfigError unless ``job`` has layers and mini-batches for ``phase``."""
    field = STEP_FIELDS[phase]
    if not any(in_phase(layer, phase) for layer in job.neuralnet.layer):
        raise ConfigError("neuralnet", f"layers in phase {phase}", "none", "choose another --phase", at=("neuralnet",))
    if getattr(job, field) < 1:
        hint = f"add it, or write --steps N: the mini-batches of phase {phase}"
        raise ConfigError(field, "1 or more", str(getattr(job, field)), hint, at=(field,))


def _checkpoint_step(path: Path) -> int:
    """The training steps of a checkpoint, by its metadata or its name; 0 if neither has them. Raises DataError."""
    with open_checkpoint(path) as saved:
        text = saved.metadata.get("step", "")
    if text.isascii() and text.isdigit() and len(text) < 11:
        return min(int(text), EXTENT)
    try:
        return min(parse_step(path), EXTENT)
    except DataError:
        return 0
