"""Updates of parameters: one kernel reads and writes each array once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from netpart.kernels import updates
from netpart.kernels.cuda.launch import Fast, views
from netpart.kernels.op import Array, Clock, Op
from netpart.kernels.updates import Numbers
from netpart.kernels.verbs import place

FILE = "updates.cu"
RULE = np.dtype([(name, "f8") for name in ("first", "second", "most", "low", "high", "decay")])
"""struct Rule of updates.cu."""
SLOTS = np.dtype([(name, "u8") for name in Numbers._fields])
"""struct Slots of updates.cu."""


@dataclass(frozen=True)
class Told:
    """One of the numbers of an update, step by step."""

    updater: Any
    scale: Any
    field: str

    def __call__(self, step: int) -> float:
        return float(getattr(self.updater.numbers(step, self.scale), self.field))


class Updates(updates.Updates, Fast):
    """The verbs of the reference; rates and the like are told by slots."""

    def update(
        self, updater: Any, w: Array, g: Array, state: Sequence[Array], scale: Any, clock: Clock, norm: Array = None
    ) -> Op:
        """One update of ``w`` by ``g``. What has no ``formula`` computes for itself, and is not captured."""
        if updater.formula is None:
            return super().update(updater, w, g, state, scale, clock, norm)
        own = len(updater.slots)
        h, u, mean = ([*state[:own], w, w][:2] + [*state[own:], w])[:3]
        name, *_ = updater.formula
        tensors, told = views(w, g, h, u, mean), self._told(updater, scale)
        return self.launch(
            FILE, name, w.size, *tensors, norm, _rule(updater, scale), told, len(state) > own, int(w.size)
        )

    def follow_mean(self, w: Array, g: Array, keep: float) -> Op:
        """w <- w + (1 - keep) g."""
        return self.launch(FILE, "follow_mean", w.size, *views(w, g), float(1 - keep), int(w.size))

    def follow_variance(self, w: Array, g: Array, centre: Array, keep: float, count: int) -> Op:
        """w <- keep w + (1 - keep) variance."""
        unbiased = (1 - keep) * count / max(1, count - 1)
        return self.launch(FILE, "follow_variance", w.size, *views(w, g, centre), float(keep), unbiased, int(w.size))

    def _told(self, updater: Any, scale: Any) -> np.ndarray[Any, Any]:
        """Where the numbers of a step are; without decay that stands apart nothing shrinks."""
        found, shrinks = np.zeros((), SLOTS), updater.decoupled and _decay(updater, scale) > 0
        for field in Numbers._fields:
            if field != "shrink" or shrinks:
                found[field] = place(self.device.slot(Told(updater, scale, field)))
        return found


def _decay(updater: Any, scale: Any) -> float:
    return float(updater.weight_decay * scale.wd)


def _rule(updater: Any, scale: Any) -> np.ndarray[Any, Any]:
    """What of an update is the same in all steps."""
    _, first, second = updater.formula
    decay = 0.0 if updater.decoupled else _decay(updater, scale)
    return np.array((first, second, updater.clip_norm, *updater.clip, decay), RULE)
