"""The Summary of a run: what it measured, what it sent, and whether that is what the graph predicted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from netpart.choices import TRAIN
from netpart.graph.partition import Partition
from netpart.launch.coordinator.conversation import RunOptions
from netpart.launch.coordinator.metric_book import count_steps_per_epoch
from netpart.launch.coordinator.watchdog import MemberRecord
from netpart.launch.report.events import Halted, Measured, Summary
from netpart.launch.report.predicted_volumes import MessageVolume, predict_bytes_by_edge, predict_volumes
from netpart.launch.report.run_record import RunRecord
from netpart.layers.inputs.rows import RowInput


def summarise_run(
    partition: Partition, options: RunOptions, members: list[MemberRecord], notes: RunRecord, seconds: float,
    began: int,
) -> Summary:  # fmt: skip
    """Build the Summary at the end of a run from step ``began``. One that ended early is summed up as one of so many
    steps. ``partition`` and ``options`` are those of the last team."""
    if notes.stopped is not None:
        partition = _shorten_run(partition, notes.stopped.step)
    steps = max(0, partition.job.train_steps - options.first_step)
    cluster = partition.cluster
    # A resumed run knows that of the earlier one, whose job may have asked for more.
    judges_best = partition.job.HasField("checkpoint_best")
    train_seconds = max(m.finished.train_seconds for m in members)
    last = notes.latest.get("test") or notes.latest.get("train", {})
    return Summary(
        name=partition.graph.net.name,
        workers=cluster.groups * cluster.workers,
        steps=max(0, partition.job.train_steps - began),
        loss=_first_metric_named(last, "loss"),
        accuracy=_first_metric_named(last, "accuracy"),
        seconds=seconds,
        train_seconds=train_seconds,
        samples_per_second=steps * partition.phases[TRAIN][-1].rows[1] / train_seconds if train_seconds else 0.0,
        bytes_predicted=sum(predict_bytes_by_edge(partition, options.first_step).values()),
        bytes_counted=sum(count.bytes for m in members for count in m.finished.count),
        header_bytes=sum(m.finished.header_bytes for m in members),
        memory_bytes=[m.memory for m in members],
        devices=[m.device for m in members],
        train=notes.latest.get("train", {}),
        validation=notes.latest.get("val", {}),
        test=notes.latest.get("test", {}),
        checkpoint=notes.checkpoint,
        workspace=str(options.workspace),
        bytes_by_edge=_count_bytes_by_edge(predict_volumes(partition, options.first_step), members),
        tables=notes.tests[-1].tables if notes.tests else {},
        accuracies=_test_accuracies(notes.tests),
        classes=_class_names(partition),
        steps_per_epoch=count_steps_per_epoch(partition),
        step_seconds=_slowest_steps([members[rank] for rank in cluster.reporting_ranks]),
        cluster=str(cluster) if cluster.size > cluster.workers else "",
        staleness=notes.staleness,
        sealing=notes.sealing,
        refused_frames=sum(row.count for m in members for row in m.finished.refused),
        stopped=_stop_text(notes),
        halted=isinstance(notes.stopped, Halted),
        best=notes.best if judges_best else {},
        best_checkpoint=notes.best_checkpoint if judges_best else "",
        changes=notes.changes,
        restarts=notes.restarts,
    )


def _slowest_steps(members: list[MemberRecord]) -> list[float]:
    """How long each of the latest steps took the slowest of ``members``."""
    return [max(times) for times in zip(*(member.finished.step_seconds for member in members), strict=True)]


def _shorten_run(partition: Partition, steps: int) -> Partition:
    """The ``partition`` of a job of so many ``steps``."""
    job = type(partition.job)()
    job.CopyFrom(partition.job)
    job.train_steps = steps
    return replace(partition, job=job)


def _stop_text(notes: RunRecord) -> str:
    """Why and where the run ended early; "" if it did not."""
    stop = notes.stopped
    return "" if stop is None else f"after step {stop.step}: {stop.reason}"


def _test_accuracies(tests: list[Measured]) -> list[tuple[int, float]]:
    """The step and the first accuracy of every test that has one."""
    found = ((test.step, _first_metric_named(test.metrics, "accuracy")) for test in tests)
    return [(step, accuracy) for step, accuracy in found if accuracy is not None]


def _class_names(partition: Partition) -> dict[str, list[str]]:
    """The names of the classes by input layer, of those whose data has names."""
    inputs = ((node.name, node.layer) for node in partition.graph.net.nodes if isinstance(node.layer, RowInput))
    found = ((name, list(layer.class_names())) for name, layer in inputs)
    return {name: names for name, names in found if names}


def _count_bytes_by_edge(found: Iterable[MessageVolume], members: list[MemberRecord]) -> dict[str, int]:
    """Payload bytes that were counted, by edge: "train ip1-00:ip2-01". A message that was not predicted is named by its
    numbers."""
    names = {volume.key: volume.name for volume in found}
    counted = dict[str, int]()
    for member in members:
        for count in member.finished.count:
            key = (member.rank, *count.channel)
            if count.bytes:
                name = names.get(key, f"channel {key}")
                counted[name] = counted.get(name, 0) + count.bytes
    return counted


def _first_metric_named(metrics: dict[str, float], name: str) -> float | None:
    """The value of the first metric ``layer/name``."""
    return next((value for key, value in metrics.items() if key.split("/")[-1] == name), None)
