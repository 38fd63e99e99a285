"""VerdictBook: verdicts of the coordinator after a validation or test, from the metrics of the whole mini-batches.

    workers of group 0    validate ── report ──┐               ┌── next step
    coordinator                                └─ verdict ─────┤
    other workers, servers           wait ─────────────────────┴── next step

One verdict carries all decisions: whether the run ends, whether the best checkpoint is written, the learning rate.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netpart.checkpoint.safetensors_file import open_checkpoint
from netpart.checkpoint.steps import best_file, parse_step
from netpart.checkpoint.verdict_state import ENTRY, parse_verdict_state, verdict_state_text
from netpart.choices import TEST
from netpart.errors import DataError
from netpart.graph.judged_metrics import BEST, RATE, STOP, find_judged_metrics
from netpart.launch.coordinator.judge import MetricJudge
from netpart.launch.report.events import Judged
from netpart.proto.control_pb2 import VerdictProto
from netpart.units import plural_text
from netpart.updaters.plateau import plateau_rate_after

if TYPE_CHECKING:
    from collections.abc import Mapping

    from netpart.graph.partition import Partition


@dataclass(frozen=True)
class Verdict:
    """The message to every worker, and the events for the user."""

    message: VerdictProto
    events: tuple[Judged, ...]


class VerdictBook:
    """The judges of a run of ``partition``; without any if the job asks for none, or if ``idle``.

    ``restored`` is the checkpoint that a resumed run continues from: its state is read. Raises DataError if that is
    damaged. ``untrained`` is the step at which a run begins with random parameters, which are no best ones; None if it
    begins with others.
    """

    def __init__(
        self, partition: Partition, restored: Path | None = None, idle: bool = False, untrained: int | None = None
    ) -> None:  # fmt: skip
        self.untrained = untrained
        found = [] if idle else find_judged_metrics(partition)
        self.judges = {metric.decides: MetricJudge(metric) for metric in found}
        self.conf = partition.job.updater.learning_rate
        self.end = partition.job.train_steps
        self.judged: dict[str, int] = {}
        self.stopped: Judged | None = None
        self.goes_back = partition.job.HasField("elastic")
        self._before: list[tuple[int, dict[str, MetricJudge], dict[str, int]]] = []
        if restored is not None and self.judges:
            self._restore(restored)

    @property
    def phases(self) -> tuple[str, ...]:
        """The phases after which every worker waits for a verdict."""
        return tuple(sorted({judge.metric.phase for judge in self.judges.values()}))

    @property
    def base_lr(self) -> float | None:
        """The learning rate in place of the job's base_lr, if a metric decides about it."""
        judge = self.judges.get(RATE)
        return None if judge is None else plateau_rate_after(self.conf, judge.changes)

    def judge(self, phase: str, step: int, metrics: Mapping[str, float]) -> Verdict | None:
        """The verdict after ``phase`` at ``step``; None if nothing is judged by that phase.

        A resumed run repeats the phase that its checkpoint has counted already, so that is not counted again.
        """
        mine = {name: judge for name, judge in self.judges.items() if judge.metric.phase == phase}
        if not mine:
            return None
        if self.goes_back:
            self._before.append((step, deepcopy(self.judges), dict(self.judged)))
        message = VerdictProto(step=step, phase=phase)
        again = step <= self.judged.get(phase, -1)
        events = [] if again else self._take_values(mine, step, metrics, message)
        self.judged[phase] = max(step, self.judged.get(phase, -1))
        if STOP in mine and mine[STOP].exhausted and step < self.end and self.stopped is None:
            self.stopped = _stop_event(mine[STOP], step, metrics)
            events.append(self.stopped)
        message.stop = self.stopped is not None
        if RATE in mine and self.base_lr is not None:
            message.base_lr = self.base_lr
        return Verdict(message, tuple(events))

    def go_back(self, step: int) -> None:
        """Forget all verdicts of ``step`` and later ones: an elastic run repeats what they were about."""
        later = [state for state in self._before if state[0] >= step]
        if later:
            _, self.judges, self.judged = later[0]
            self.stopped = None
        self._before = self._before[: len(self._before) - len(later)]

    def _take_values(
        self, mine: dict[str, MetricJudge], step: int, metrics: Mapping[str, float], message: VerdictProto
    ) -> list[Judged]:
        """Let each of the judges ``mine`` count the value of its metric; return the events of rate and best."""
        # A figure that no row defines, such as the sensitivity without a positive row, is not reported: no improvement.
        better = {
            name: judge.judge(step, metrics.get(judge.metric.name, nan))
            for name, judge in mine.items()
            if name != BEST or step != self.untrained
        }
        message.best = better.get(BEST, False)
        events = [_best_event(mine[BEST], step)] if message.best else []
        # At the end no step would have the new rate, and the last checkpoint has been written.
        if RATE in mine and mine[RATE].exhausted and step < self.end:
            before = self.base_lr
            mine[RATE].restart()
            if self.base_lr != before:
                events.append(_rate_event(mine[RATE], step, metrics, self.base_lr or 0.0))
        return events

    def metadata(self, best: bool = False) -> dict[str, str]:
        """The entries of a checkpoint's metadata: the state, or what the best checkpoint is the best of."""
        if best and BEST in self.judges:
            judge = self.judges[BEST]
            return {"best_metric": judge.metric.name, "best_value": repr(judge.best)}
        if not self.judges:
            return {}
        states = {name: judge.state() for name, judge in self.judges.items()}
        return {ENTRY: verdict_state_text({"judged": self.judged, "judges": states})}

    def _restore(self, path: Path) -> None:
        """Take the state of the checkpoint ``path``; one without a state leaves the judges new."""
        with open_checkpoint(path) as saved:
            text = saved.metadata.get(ENTRY)
        if text is not None:
            try:
                self._take_state(parse_verdict_state(text))
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                hint = "use an earlier checkpoint, or start a new run from this one with checkpoint_path"
                raise DataError(
                    f"{path}: expected the state of early_stop, checkpoint_best and kPlateau in its metadata, got"
                    f" {str(error) or type(error).__name__:.80}; {hint}"
                ) from None
        if BEST in self.judges:
            self._take_best_file(best_file(path.parent), parse_step(path))

    def _take_state(self, state: dict[str, Any]) -> None:
        """Take what ``metadata`` has written; a decision that the other job did not ask for starts anew."""
        known = state["judges"]
        for name, judge in self.judges.items():
            if name in known:
                judge.restore(known[name])
        judged = {phase: step for phase, step in state["judged"].items() if phase in self.phases}
        if not all(type(step) is int for step in judged.values()):
            raise ValueError("a judged step that is no number")
        self.judged = judged

    def _take_best_file(self, path: Path, first: int) -> None:
        """Take the value of the best checkpoint if it is of step ``first`` or before, and better than the state's.

        The last validation of a run comes after its last checkpoint, so only this file knows of it. A file of a later
        step is one that the resumed run will write again.
        """
        judge = self.judges[BEST]
        if not path.exists():
            return
        with open_checkpoint(path) as saved:
            noted = saved.metadata
        try:
            step, value = int(noted["step"]), float(noted["best_value"])
        except (KeyError, ValueError):
            return
        if noted.get("best_metric") == judge.metric.name and step <= first and judge.is_better(value):
            judge.best = value
            judge.best_step = step


def _stop_event(judge: MetricJudge, step: int, metrics: Mapping[str, float]) -> Judged:
    """The event of an early stop."""
    count = judge.metric.patience
    times = f"the last {plural_text(count, 'test' if judge.metric.phase == TEST else 'validation')}"
    reason = f"{times} did not improve {judge.metric.name}: best {judge.best!r} at step {judge.best_step}"
    return _event(judge, step, metrics, reason)


def _best_event(judge: MetricJudge, step: int) -> Judged:
    """The event of a new best validation."""
    return _event(judge, step, {judge.metric.name: judge.best or 0.0}, "the best so far")


def _rate_event(judge: MetricJudge, step: int, metrics: Mapping[str, float], rate: float) -> Judged:
    """The event of a lower learning rate."""
    return _event(judge, step, metrics, f"learning rate {rate:g} from this step on")


def _event(judge: MetricJudge, step: int, metrics: Mapping[str, float], reason: str) -> Judged:
    """An event about the metric of ``judge``."""
    metric = judge.metric
    value = metrics.get(metric.name)
    return Judged(metric.phase, step, metric.decides, metric.name, value, judge.best, judge.best_step, reason)
