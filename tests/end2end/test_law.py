"""Law 9 with real processes: random jobs, cut at random, played by processes, by threads and in one thread."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from hypothesis import Phase, given, settings
from numpy.typing import NDArray
from safetensors.numpy import load_file

from netpart.graph.partition import partition_job
from netpart.launch.control.due_steps import must_drain
from netpart.launch.report.events import Event, Measured
from netpart.launch.run import run_job
from netpart.proto.job_pb2 import Collectives, JobProto
from netpart.proto.reader import Job
from netpart.worker.ensemble import Ensemble
from tests.laws.nets import Example, examples
from tests.laws.workers import close, compare_metrics, reference
from tests.thorough import THOROUGH

STEPS = 3
Tensors = dict[str, NDArray[Any]]


def play(job: JobProto, workers: int, launcher: str, transport: str) -> tuple[Tensors, list[dict[str, float]]]:
    """The parameters after the last step, and the metrics of every training step."""
    heard: list[Event] = []
    with TemporaryDirectory() as folder:
        summary = run_job(
            Job(job, None, "job", ""), workers, launcher=launcher, listener=heard.append, workspace=Path(folder),
            transport=transport,
        )  # fmt: skip
        saved = dict(load_file(summary.checkpoint))
    assert summary.bytes_counted == summary.bytes_predicted
    return saved, [e.metrics for e in heard if isinstance(e, Measured) and e.phase == "train"]


def play_in_turn(ensemble: Ensemble) -> tuple[Tensors, list[dict[str, float]]]:
    """The same of workers that take turns in one thread, with the pauses of a run."""
    ensemble.initialise()
    job = ensemble.partition.job
    phases = ensemble.partition.phases
    found = ensemble.partition.parameters
    metrics = [ensemble.step("train", step, drain=must_drain(job, phases, step + 1)) for step in range(STEPS)]
    return {p.name: ensemble.parameter(p.name).reshape(p.spec.saved or p.spec.shape) for p in found}, metrics


@given(example=examples())
@settings(
    max_examples=10 if THOROUGH else 2, phases=[Phase.explicit, Phase.generate]
)  # an example starts a dozen processes, and shrinking would start hundreds
def test_processes_are_threads_are_one_worker(example: Example) -> None:
    job = JobProto()
    job.CopyFrom(example.job)
    job.train_steps, job.disp_freq = STEPS, 1
    if job.collectives == Collectives.NCCL:  # needs GPUs; tests.cuda has laws of its own
        job.collectives = Collectives.AUTO
    parameters, metrics = play(job, example.workers, "local", "shm")
    in_turn = Ensemble(partition_job(job, example.workers))
    for others, also in (
        play(job, example.workers, "local", "zeromq"),
        play(job, example.workers, "threads", "auto"),
        play_in_turn(in_turn),
    ):
        assert also == metrics
        assert others.keys() == parameters.keys()
        assert all(np.array_equal(others[name], value) for name, value in parameters.items())
    if any(player.program.phases["train"].depth for player in in_turn.players):
        return  # gradients of earlier steps: tests/program/schedules/test_delays.py has what they should be
    whole, expected = play_in_turn(Ensemble(reference(job)))
    for name, value in whole.items():
        close(parameters[name], value, name)
    for found, wanted in zip(metrics, expected, strict=True):
        compare_metrics(found, wanted, "a training step")
