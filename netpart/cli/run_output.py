"""Texts of a run: its events while it goes on, and its summary at the end."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netpart.choices import AES_GCM, CURVE, PLAIN, TRAIN

if TYPE_CHECKING:
    from netpart.launch.coordinator.oversubscribed_hosts import OversubscribedHost
    from netpart.launch.report.events import (
        Event,
        Judged,
        Lost,
        Recut,
        Restarted,
        Staleness,
        Started,
        Summary,
        WentOn,
    )
    from netpart.launch.report.speedup import Speedup

THROUGH = {
    "memory": "this process's memory", "mpi": "MPI", "shm": "shared memory", "zeromq": "ZeroMQ",
    "cuda-ipc": "memory of the GPUs",
}  # fmt: skip
"""Names of transports in the first line of a run."""
HERE = ("memory", "shm")
"""Transports of runs that are on one host."""
LARGE = 1e9
"""Metrics of at least this size are shown with an exponent."""
SHOWN = 8
"""Maximum number of histogram counts that are printed, apart from the last."""


@contextmanager
def event_printer(steps: int) -> Iterator[Callable[[Event], None]]:
    """Yield the listener that prints the events of a run: with a progress bar on a terminal, else as plain lines."""
    if not sys.stdout.isatty():
        yield print_event
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from netpart.launch.report.events import Measured

    console = Console(highlight=False)
    columns = (
        TextColumn("step {task.completed:.0f}/{task.total:.0f}"), BarColumn(), TextColumn("{task.description}"),
        TimeRemainingColumn(), TextColumn("left"),
    )  # fmt: skip
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("starting", total=steps)

        def show(event: Event) -> None:
            if isinstance(event, Measured) and event.phase == "train":
                progress.update(
                    task, completed=event.step, description=f"{_metrics_line(event.metrics)}  {_training_speed(event)}"
                )
            elif line := event_line(event):
                console.print(line)

        yield show


def print_event(event: Event) -> None:
    """Print the line of an event, if it has one."""
    if line := event_line(event):
        print(line, flush=True)  # flush: the reader of a pipe follows the run


def event_line(event: Event) -> str:
    """The line that reports one event; "" for the end of a run, which its summary reports."""
    from netpart.launch.report.events import (
        Ended,
        Halted,
        Invited,
        Joined,
        Judged,
        Lost,
        Measured,
        Noticed,
        Recut,
        Restarted,
        Saved,
        WentOn,
    )

    if isinstance(event, Measured):
        speed = f"  {_training_speed(event)}" if event.phase == "train" else ""
        name = {"train": "Train", "val": "Validation", "test": "Test"}[event.phase]
        return f"{name} @ step {event.step}  {_metrics_line(event.metrics)}{speed}"
    if isinstance(event, Ended):
        return ""
    if isinstance(event, Judged):
        return _judged_line(event)
    if isinstance(event, Halted):
        return f"Ends @ step {event.step}: {event.reason}"
    if isinstance(event, Restarted):
        return _restart_text(event)
    if isinstance(event, Saved):
        return f"Saved {event.path}"
    if isinstance(event, (Lost, Recut, WentOn)):
        return _change_line(event)
    if isinstance(event, Invited):
        needs = f" (with {event.needs})" if event.needs else ""
        return f"waiting for {_ranks_text(event.missing)}; on another host, for each{needs}: {event.command}"
    if isinstance(event, Noticed):
        return f"note: {event.text}"
    if isinstance(event, Joined):
        rest = f"; waiting for {_ranks_text(event.missing)}" if event.missing else "; all workers have joined"
        return f"worker {event.rank} joined ({event.where}){rest}"
    return _started_line(event)


def _started_line(event: Started) -> str:
    """The line that reports the start of a run."""
    from netpart.units import bytes_text, plural_text

    devices = ", ".join(sorted(set(event.devices)))
    memory = " + ".join(bytes_text(m) for m in event.memory) + _memory_excess_text(event)
    threads = " + ".join(map(str, event.threads)) + " threads" if event.threads != (1,) else "1 thread"
    threads += "".join(map(_oversubscription_text, event.crowds))
    start = f" from step {event.first_step}" if event.first_step else ""
    played = f"{plural_text(event.steps, 'step')}{start}"
    if event.phase != TRAIN:
        played = f"phase {event.phase} after step {event.first_step}"
    who = event.cluster or plural_text(event.workers, "worker")
    through = THROUGH.get(event.transport, event.transport) + _sealing_text(event)
    return (
        f"{event.name}: {who} on {devices}, {event.kernels}, {threads}; "
        f"batch {event.batch}, {played}; memory {memory}; "
        f"tensors through {through}{_idle_workers_text(event)}"
    )


def _change_line(event: Lost | Recut | WentOn) -> str:
    """The line that reports a change of an elastic run's workers."""
    from netpart.launch.report.events import Lost, Recut
    from netpart.units import plural_text

    if isinstance(event, Lost):
        return f"worker {event.worker}{f' ({event.where})' if event.where else ''} is gone: {event.reason}"
    if isinstance(event, Recut):
        source = _SOURCES[event.source].format(step=event.step)
        cut = f"cut anew for {event.workers}: {event.scheme}"
        takes = "" if event.seconds is None else f", {event.seconds:.2g} s a step predicted"
        return f"  {plural_text(event.left, 'worker')} left; {source}; {cut}{takes}"
    if event.joined and not event.lost:
        hosts = ", ".join(event.joined)
        who = f"worker{'s' * (len(event.joined) > 1)} on {hosts} joined"
        return f"{who}; {plural_text(event.workers, 'worker')} from step {event.step}"
    since = f"{event.seconds:.1f} s after the loss, {plural_text(event.again, 'step')} again"
    return f"  going on with step {event.step:<20d} {since}"


_SOURCES = {
    "memory": "step {step} is whole in their memory",
    "checkpoint": "no step is whole in their memory, so back to the checkpoint of step {step}",
    "start": "no step is whole in their memory, and there is no checkpoint, so again from step {step}",
}


def _restart_text(event: Restarted) -> str:
    """Why the run starts again, and how it goes on."""
    from netpart.units import plural_text

    begins = f"goes on from {event.checkpoint}" if event.checkpoint else "no checkpoint was saved, so it begins anew"
    return (
        f"{event.reason}\nRestart {event.number} of {event.limit} @ step {event.step}"
        f"  cut for {plural_text(event.workers, 'worker')}; {begins}"
    )


def _sealing_text(event: Started) -> str:
    """How links are sealed; "" if none leaves this host unsealed."""
    if event.sealing == CURVE:
        return ", sealed with CURVE (slow; `pip install 'netpart[secure]'` on all hosts for AES-256-GCM)"
    return {AES_GCM: ", sealed with AES-256-GCM", PLAIN: ", NOT sealed"}.get(event.sealing, "")


def _judged_line(event: Judged) -> str:
    """The line that reports a decision after a validation."""
    what = {"stop": "Stopped", "best": "Best", "rate": "Plateau"}.get(event.decides, event.decides)
    value = "not reported" if event.value is None else _metric_text(event.value)
    return f"{what} @ step {event.step}  {event.metric} = {value}: {event.reason}"


def _idle_workers_text(event: Started) -> str:
    """A remark on workers that have nothing to compute, "" if every worker has some."""
    if not event.idle:
        return ""
    have = "has" if len(event.idle) == 1 else "have"
    return f"; {_ranks_text(event.idle)} {have} nothing to do: `netpart check` explains why"


def _memory_excess_text(event: Started) -> str:
    """A remark on workers that together need more memory than their host or container has, "" if it suffices.

    Only for runs on one host: of other hosts the limit is not known here.
    """
    from netpart.units import bytes_text
    from netpart.worker.memory_limit import host_memory_limit

    has = host_memory_limit() if event.transport in HERE and set(event.devices) == {"cpu"} else None
    if has is None or sum(event.memory) <= has:
        return ""
    return (
        f", more than the {bytes_text(has)} that their host allows, so one may be killed; take fewer rows or more hosts"
    )


def _oversubscription_text(crowd: OversubscribedHost) -> str:
    """A remark on workers of one host that have more threads than it has cores."""
    from netpart.units import plural_text

    cores = plural_text(crowd.cores, "core")
    ranks = _ranks_text(crowd.ranks)
    return f", too many for the {cores} of {ranks}: use --threads {crowd.share}"


def _ranks_text(missing: tuple[int, ...]) -> str:
    """Workers as text: "worker 1", "workers 1, 2"."""
    return f"worker{'s' if len(missing) > 1 else ''} {', '.join(map(str, missing))}"


def _metrics_line(metrics: dict[str, float]) -> str:
    """Metrics in the format of SINGA: LAYER/METRIC = value."""
    return ", ".join(f"{name} = {_metric_text(value)}" for name, value in metrics.items())


def _metric_text(value: float) -> str:
    """``value`` with six digits after the point; large values, of diverged training, with an exponent."""
    return f"{value:.6e}" if abs(value) >= LARGE else f"{value:.6f}"


def _training_speed(event: Any) -> str:
    """The training speed as text."""
    return f"{event.samples_per_second:,.0f} samples/s"


def summary_text(summary: Summary) -> str:
    """The summary as text, one line per topic."""
    from netpart.checkpoint.steps import step_file
    from netpart.units import bytes_text, seconds_text

    agree = "as predicted" if summary.bytes_counted == summary.bytes_predicted else "NOT as predicted"
    members = "workers and servers" if "server" in summary.cluster else "workers"
    untrained = Path(summary.checkpoint).name == step_file(Path(), 0).name
    rows = {
        "test": _metrics_line(summary.test) if summary.test else "",
        "validation": _metrics_line(summary.validation) if summary.validation else "",
        "train": _metrics_line(summary.train) if summary.train else "",
        "time": f"{seconds_text(summary.seconds)}, {seconds_text(summary.train_seconds)} of it in training at"
        f" {summary.samples_per_second:,.0f} samples/s",
        "moved": f"{bytes_text(summary.bytes_counted)} between {members}, {agree} ({summary.bytes_predicted:,} bytes)",
        "staleness": staleness_text(summary.staleness) if summary.staleness else "",
        "stopped": summary.stopped,
        "changes": _changes_text(summary.changes),
        "restarts": "; ".join(f"{again['restart']} at step {again['step']}" for again in summary.restarts),
        "best": _best_text(summary),
        "checkpoint": summary.checkpoint + (": initial values, as no step was trained" if untrained else ""),
    }
    lines = [f"{name:>10}  {text}" for name, text in rows.items() if text]
    return "\n".join([*lines, *(confusion_text(name, table) for name, table in summary.tables.items())])


def _changes_text(changes: list[dict[str, Any]]) -> str:
    """The changes of an elastic run's workers in one line; "" if there was none."""
    lost = sum(len(change["lost"]) for change in changes)
    joined = sum(len(change["joined"]) for change in changes)
    again = sum(change["again"] for change in changes)
    if not changes:
        return ""
    return f"{lost} lost, {joined} joined, {again} steps again; {changes[-1]['workers']} workers at the end"


def _best_text(summary: Summary) -> str:
    """The best validation of the run and its checkpoint; "" for a run without a best one."""
    best = summary.best
    if not best or best["value"] is None:
        return ""
    return f"{best['metric']} = {_metric_text(best['value'])} at step {best['step']}: {summary.best_checkpoint}"


def evaluation_text(summary: Summary) -> str:
    """The summary of an evaluation as text, one line per topic."""
    from netpart.units import bytes_text, seconds_text

    agree = "as predicted" if summary.bytes_counted == summary.bytes_predicted else "NOT as predicted"
    rows = {
        "test": _metrics_line(summary.test),
        "validation": _metrics_line(summary.validation),
        "time": seconds_text(summary.seconds),
        "moved": f"{bytes_text(summary.bytes_counted)} between workers, {agree} ({summary.bytes_predicted:,} bytes)",
    }
    lines = [f"{name:>10}  {text}" for name, text in rows.items() if text]
    return "\n".join([*lines, *(confusion_text(name, table) for name, table in summary.tables.items())])


def staleness_text(found: Staleness) -> str:
    """The staleness of updates in one line; a long histogram is shortened to its first SHOWN counts and the last."""
    counts = [f"{stale}: {count:,}" for stale, count in found.histogram.items()]
    counts = [*counts[:SHOWN], "...", counts[-1]] if len(counts) > SHOWN + 1 else counts
    return f"{found.mean:.2f} on average, {found.most} at most, of {found.updates:,} updates ({', '.join(counts)})"


def confusion_text(name: str, table: list[list[int]]) -> str:
    """A confusion matrix as text, one line per class."""
    wide = max(len(str(count)) for row in table for count in (*row, len(row)))
    lines = (f"{f'class {k}':>10}  {' '.join(f'{count:>{wide}}' for count in row)}" for k, row in enumerate(table))
    return "\n".join([f"{name} of the test: rows are true classes, columns predicted ones", *lines])


def speedup_text(found: Speedup, accuracy: float) -> str:
    """The speed-up as text: in training time, and by equation 13 with its three factors."""

    def text(value: float | None) -> str:
        return "unknown" if value is None else f"{value:.2f}"

    factors = f"{text(found.step)} a step x {text(found.steps)} steps an epoch x {text(found.epochs)} epochs"
    return (
        f"  speed-up  {text(found.training)} in training time\n"
        f"    eq. 13  {text(found.equation_13)} = {factors} to an accuracy of {accuracy:g}"
    )
