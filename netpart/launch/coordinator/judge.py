"""Judge of one metric: has it improved, and for how many validations has it not?

The rule is that of torch.optim.lr_scheduler.ReduceLROnPlateau with threshold_mode="abs", except that it acts after
``patience`` validations without improvement, where torch acts after one more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from netpart.graph.judged_metrics import JudgedMetric
from netpart.proto.limits import EXTENT


@dataclass
class MetricJudge:
    """What is known of ``metric``: its best value and the ``best_step`` of it; ``bad`` validations since then.

    ``cooling`` validations are not counted. ``changes`` is how often the patience was exhausted.
    """

    metric: JudgedMetric
    best: float | None = None
    best_step: int = 0
    bad: int = 0
    cooling: int = 0
    changes: int = 0

    def is_better(self, value: float) -> bool:
        """True if ``value`` is an improvement. A NaN never is, as comparisons with it are False."""
        if self.best is None:
            return value == value
        gain = value - self.best if self.metric.larger else self.best - value
        return gain > self.metric.least_change

    def judge(self, step: int, value: float) -> bool:
        """Take the ``value`` after ``step`` steps; return whether it is an improvement."""
        better = self.is_better(value)
        if better:
            self.best = value
            self.best_step = step
        self.bad = 0 if better or self.cooling else self.bad + 1
        self.cooling = max(0, self.cooling - 1)
        return better

    @property
    def exhausted(self) -> bool:
        """True if the last ``patience`` validations brought no improvement."""
        return self.bad >= self.metric.patience

    def restart(self) -> None:
        """Count a change, and begin to count validations anew after the cooldown."""
        self.changes += 1
        self.bad = 0
        self.cooling = self.metric.cooldown

    def state(self) -> dict[str, Any]:
        """What a checkpoint keeps: the state, and the settings that it belongs to."""
        kept = {"best": self.best, "best_step": self.best_step, "bad": self.bad, "cooling": self.cooling}
        return self.identity() | kept | {"changes": self.changes}

    def identity(self) -> dict[str, Any]:
        """The settings without which the state has no meaning."""
        return {"metric": self.metric.name, "phase": self.metric.phase, "larger": self.metric.larger}

    def restore(self, state: dict[str, Any]) -> None:
        """Take the ``state`` of a checkpoint, unless it belongs to other settings. Raises ValueError for impossible
        numbers, KeyError for missing ones."""
        if {name: state[name] for name in self.identity()} != self.identity():
            return
        best = state["best"]
        if best is not None and not (isinstance(best, float) and abs(best) < float("inf")):
            raise ValueError(f"best value {best!r:.40}")
        counts = {name: state[name] for name in ("best_step", "bad", "cooling", "changes")}
        for name, count in counts.items():
            if type(count) is not int or not 0 <= count <= EXTENT:
                raise ValueError(f"{name} {count!r:.40}")
        self.best = best
        self.best_step, self.bad = counts["best_step"], counts["bad"]
        self.cooling, self.changes = counts["cooling"], counts["changes"]
