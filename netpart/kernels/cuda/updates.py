"""Updates of parameters: a kernel that reads and writes each array once, for many parameters in one launch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from netpart.kernels import updates
from netpart.kernels.cuda.launch import CudaVerbs, KernelLaunch
from netpart.kernels.cuda.view import DTYPE, collapsed_views
from netpart.kernels.op import Array, Clock, Op
from netpart.kernels.updates import StepNumbers
from netpart.kernels.verbs import NOTHING, data_address

FILE = "updates.cu"
RULE = np.dtype([(name, "f8") for name in ("first", "second", "most", "low", "high", "decay")])
"""struct Rule of updates.cu."""
SLOTS = np.dtype([(name, "u8") for name in StepNumbers._fields])
"""struct Slots of updates.cu."""


ROW = np.dtype(
    [(name, DTYPE) for name in ("w", "g", "h", "u", "mean")]
    + [("norm", "u8"), ("rule", RULE), ("slots", SLOTS), ("averages", "i8"), ("size", "i8")]
)
"""struct Row of updates.cu."""
FOLLOWING = np.dtype(
    [(name, DTYPE) for name in ("w", "g", "before", "centre")] + [("keep", "f8"), ("gain", "f8"), ("size", "i8")]
)
"""struct Following of following.cu."""
CHUNK = 4096
"""Elements that a block updates."""


@dataclass(frozen=True, eq=False)
class BoundUpdate:
    """One bound update: a row of the table that a launch processes, and the arrays in it. A call does it alone.

    Updates with equal ``table`` may be done in one launch.
    """

    table: UpdateTable
    row: np.ndarray[Any, Any]
    alive: tuple[Any, ...]

    @cached_property
    def alone(self) -> Callable[[], None]:
        return self.table.gather([self])

    def __call__(self) -> None:
        self.alone()


@dataclass(frozen=True)
class UpdateTable:
    """Updates by the kernel ``name`` of ``file``."""

    kernels: CudaVerbs
    file: str
    name: str

    def gather(self, updates: list[BoundUpdate]) -> Callable[[], None]:
        """The function that does all ``updates`` in one launch, in which each block does a chunk of one of them."""
        xp = self.kernels.xp
        rows = np.array([each.row for each in updates])
        chunks = [(k, start) for k, row in enumerate(rows) for start in range(0, int(row["size"]), CHUNK)]
        table = xp.asarray(rows.view(np.uint8))
        work = xp.asarray(np.array(chunks, np.int64))
        launch = self.kernels.bound(self.file, self.name, len(chunks), table, work, grid=len(chunks))
        assert launch is not None
        return partial(_launch_updates, launch, updates)


def _launch_updates(launch: KernelLaunch, updates: list[BoundUpdate]) -> None:
    """Enqueue ``launch``; ``updates`` are an argument to keep their arrays alive."""
    launch({})


@dataclass(frozen=True)
class UpdateNumbers:
    """The StepNumbers of all updates with ``updater`` and ``scale``, as a function of the step."""

    updater: Any
    scale: Any

    def __call__(self, step: int) -> StepNumbers:
        found: StepNumbers = self.updater.numbers(step, self.scale)
        return found


class Updates(updates.Updates, CudaVerbs):
    """The verbs of the reference; kernels read the StepNumbers from slots of the device."""

    def update(
        self, updater: Any, w: Array, g: Array, state: Sequence[Array], scale: Any, clock: Clock, norm: Array = None
    ) -> Op:
        """One update of ``w`` by ``g``. An updater without ``formula`` computes it itself; that Op is not captured."""
        if updater.formula is None:
            return super().update(updater, w, g, state, scale, clock, norm)
        own = len(updater.slots)
        # Views that the rule does not use show w: the kernel gets valid memory, which it neither reads nor writes.
        h, u, mean = ([*state[:own], w, w][:2] + [*state[own:], w])[:3]
        name, *_ = updater.formula
        if w.size == 0:
            return NOTHING
        tensors = tuple(view.value for view in collapsed_views(w, g, h, u, mean))
        address = 0 if norm is None else data_address(norm)
        slots = self._told(updater, scale)
        row = np.array((*tensors, address, _rule_struct(updater, scale), slots, len(state) > own, w.size), ROW)
        return Op(BoundUpdate(UpdateTable(self, FILE, name), row, (w, g, h, u, mean, norm)))

    def follow_mean(self, w: Array, g: Array, keep: float, before: Array | None = None) -> Op:
        """w <- before + (1 - keep) (w - before + g)."""
        return self._follow(w, g, before, None, keep, 1 - keep)

    def follow_variance(
        self, w: Array, g: Array, centre: Array, keep: float, count: int, before: Array | None = None
    ) -> Op:
        """w <- keep before + (1 - keep) variance."""
        return self._follow(w, g, before, centre, keep, (1 - keep) * count / max(1, count - 1))

    def _follow(
        self, w: Array, g: Array, before: Array | None, centre: Array | None, keep: float, gain: float
    ) -> Op:  # fmt: skip
        if w.size == 0:
            return NOTHING
        before = w if before is None else before
        found = np.zeros((), FOLLOWING)
        arrays = [a for a in (w, g, before, centre) if a is not None]
        for field, view in zip(FOLLOWING.names or (), collapsed_views(*arrays), strict=False):
            found[field] = view.value
        found["keep"] = keep
        found["gain"] = gain
        found["size"] = w.size
        return Op(BoundUpdate(UpdateTable(self, "following.cu", "follow"), found, tuple(arrays)))

    def _told(self, updater: Any, scale: Any) -> np.ndarray[Any, Any]:
        """The addresses of the slots of all StepNumbers; shrink is null without decoupled weight decay."""
        found = np.zeros((), SLOTS)
        slots = self.device.step_slots(UpdateNumbers(updater, scale), len(StepNumbers._fields))
        for at, field in enumerate(StepNumbers._fields):
            found[field] = data_address(slots[at:])
        if not (updater.decoupled and _scaled_decay(updater, scale) > 0):
            found["shrink"] = 0
        return found


def _scaled_decay(updater: Any, scale: Any) -> float:
    return float(updater.weight_decay * scale.wd)


def _rule_struct(updater: Any, scale: Any) -> np.ndarray[Any, Any]:
    """The constants of an update, the same in all steps."""
    _, first, second = updater.formula
    decay = 0.0 if updater.decoupled else _scaled_decay(updater, scale)
    return np.array((first, second, updater.clip_norm, *updater.clip, decay), RULE)
