"""Updater: what every update rule shares: clipping, weight decay, learning rate, blocks.

One update of a parameter w with gradient g at step t, in this order:

    g <- min(max(g, clip_low), clip_high)                if clip_high > clip_low
    g <- g + weight_decay * wd_scale * w                 if that factor is above 0
    w <- rule(w, g, state) with learning rate  schedule(t) * lr_scale

g itself is only read, so that it can be inspected after the step. On a CPU the rule, which is several
passes over the same arrays, runs block by block: a block of everything it touches stays in the cache,
and its temporaries need the size of a block, not that of the largest parameter.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

from netpart.kernels.op import Array, Clock, Op
from netpart.proto.updater_pb2 import UpdaterProto
from netpart.updaters.checks import check, not_negative
from netpart.updaters.schedule import schedule

BLOCK = 1 << 15
"""Elements of a block: five float32 arrays of it fit a 1 MiB second-level cache."""


@dataclass(frozen=True)
class Scale:
    """A parameter's own factors: ParamProto.lr_scale and ParamProto.wd_scale."""

    lr: float = 1.0
    wd: float = 1.0


class Updater(ABC):
    """An update rule with its constants known. Subclasses are final and say only what differs."""

    types: ClassVar[tuple[str, ...]]
    """UpdaterType names that this class implements."""
    slots: tuple[str, ...] = ()
    """State arrays of the parameter's shape and dtype, zero at the start, saved in checkpoints."""
    temporaries: ClassVar[int] = 1
    """Arrays of a block's shape that ``update`` scribbles on; at least 1."""

    def __init__(self, conf: UpdaterProto) -> None:
        """Checks ``conf``; raises ConfigError naming the field at fault."""
        self.rate = schedule(conf.learning_rate)
        self.weight_decay = not_negative(conf.weight_decay, "weight_decay")
        self.clip = (conf.clip_low, conf.clip_high)
        check(self.clip[0] <= self.clip[1], "clip_low", f"at most clip_high: {self.clip[1]}", self.clip[0], "swap them")

    @abstractmethod
    def update(self, xp: Any, lr: float, w: Array, g: Array, state: Sequence[Array], t: Sequence[Array]) -> None:
        """Updates one block of ``w`` and ``state`` in place; ``g`` is only read, ``t`` lost."""

    def bind(self, xp: Any, w: Array, g: Array, state: Sequence[Array], scale: Scale, clock: Clock) -> Op:
        """Binds one update of ``w`` by ``g``, at the learning rate of ``clock.step`` when run.

        w, g and each of ``state`` (one per name in ``slots``) have one shape and one floating dtype, and
        may be strided views. ``run`` changes w and state in place, reads g, and allocates no array.
        """
        decay = self.weight_decay * scale.wd
        extra = int(self.clip[0] < self.clip[1] or decay > 0)
        parts = _blocks((w, g, *state), BLOCK if xp.__name__ == "numpy" else w.size)
        shape = parts[0][0].shape if parts else (0,)

        def run(*scratch: Array) -> None:
            lr = self.rate(clock.step) * scale.lr
            for part_w, part_g, *part_state in parts:
                t = [array[: len(part_w)] for array in scratch]
                gradient = self._regularise(xp, part_w, part_g, decay, t.pop(), t[0]) if extra else part_g
                self.update(xp, lr, part_w, gradient, part_state, t)

        return Op(run, [(shape, w.dtype)] * (self.temporaries + extra))

    def _regularise(self, xp: Any, w: Array, g: Array, decay: float, out: Array, t: Array) -> Array:
        low, high = self.clip
        if low < high:
            g = xp.clip(g, low, high, out=out)
        if decay > 0:
            xp.multiply(w, decay, out=t)
            g = xp.add(g, t, out=out)
        return g

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.types[0]} state {', '.join(self.slots) or 'none'})"


def average(xp: Any, mean: Array, rho: float, value: Array, t: Array) -> None:
    """Moves a running mean: mean <- rho mean + (1 - rho) value; ``t`` is scribbled on and may be ``value``."""
    xp.multiply(mean, rho, out=mean)
    xp.multiply(value, 1 - rho, out=t)
    xp.add(mean, t, out=mean)


def root(xp: Any, value: Array, delta: float, out: Array) -> Array:
    """Writes sqrt(value + delta) to ``out`` and returns it."""
    xp.add(value, delta, out=out)
    return xp.sqrt(out, out=out)


def _blocks(arrays: Sequence[Array], size: int) -> list[tuple[Array, ...]]:
    """Cuts arrays of one shape on axis 0 into views of about ``size`` elements (flat ones: exactly)."""
    if all(a.flags.c_contiguous for a in arrays):
        arrays = [a.reshape(-1) for a in arrays]
    rows = max(1, size // max(1, prod(arrays[0].shape[1:])))
    return [tuple(a[lo : lo + rows] for a in arrays) for lo in range(0, len(arrays[0]), rows)]
