"""Updater: what every update rule shares: clipping, weight decay, learning rate, averages, blocks.

One update of a parameter w with gradient g at step t, in this order:

    g <- g * clip_norm / max(norm, clip_norm)            if clip_norm > 0; norm is that of all gradients together
    g <- min(max(g, clip_low), clip_high)                if clip_high > clip_low
    g <- g + decay * w, or w <- w - lr * decay * w       if decay = weight_decay * wd_scale is above 0
    w <- rule(w, g, state) with learning rate            lr = schedule(t) * lr_scale
    a <- keep * a + (1 - keep) * w                       if ema_decay > 0; keep: that, or less in a warm-up

g itself is only read, so that it can be inspected after the step. On a CPU the rule, which is several
passes over the same arrays, runs block by block: a block of everything it touches stays in the cache,
and its temporaries need the size of a block, not that of the largest parameter.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from netpart.kernels.op import Array, Clock, Op
from netpart.kernels.updates import StepNumbers, UpdateFormula
from netpart.kernels.verbs import array_blocks
from netpart.proto.updater_pb2 import UpdaterProto
from netpart.updaters.checks import check_field, check_fraction, check_not_negative
from netpart.updaters.schedule import learning_rate_schedule

CACHE = 3 << 16
"""Elements of float32 that a block may have in all arrays of an update together: three quarters of a megabyte."""
AVERAGE = "average"
"""Name of the state that holds the moving average of a parameter."""


@dataclass(frozen=True)
class ParameterScale:
    """A parameter's own factors: ParamProto.lr_scale and ParamProto.wd_scale."""

    lr: float = 1.0
    wd: float = 1.0


class UpdateStep(NamedTuple):
    """What a rule may know of the step: its number, counted from 1, and the parameter's learning rate."""

    number: int
    lr: float


class Updater(ABC):
    """An update rule with its constants known. Subclasses are final and say only what differs."""

    slots: tuple[str, ...] = ()
    """State arrays of the rule, of the parameter's shape and dtype, zero at the start."""
    temporaries: ClassVar[int] = 1
    """Arrays of a block's shape that ``update`` scribbles on; at least 1."""
    decoupled: ClassVar[bool] = False
    """Weight decay shrinks the parameter by itself, and is no part of the gradient."""
    delta: float = 0.0
    """What keeps a division from 0 / 0."""

    def __init__(self, conf: UpdaterProto) -> None:
        """Checks ``conf``; raises ConfigError naming the field at fault."""
        self.rate = learning_rate_schedule(conf.learning_rate)
        self.weight_decay = check_not_negative(conf.weight_decay, "weight_decay")
        self.clip = (conf.clip_low, conf.clip_high)
        check_field(
            self.clip[0] <= self.clip[1], "clip_low", f"at most clip_high: {self.clip[1]}", self.clip[0], "swap them"
        )
        self.clip_norm = check_not_negative(conf.clip_norm, "clip_norm", "0 clips nothing")
        self.keep = check_fraction(conf.ema_decay, "ema_decay")
        self.warmup = conf.ema_warmup
        self.tests_averages = conf.ema_eval
        for field in ("ema_warmup", "ema_eval"):
            lost = getattr(conf, field) and not self.keep
            check_field(not lost, field, "an ema_decay above 0 beside it", conf.ema_decay, "add ema_decay: 0.999")

    @property
    def states(self) -> tuple[str, ...]:
        """Names of all state arrays of a parameter, saved in checkpoints: the rule's, and the average if there is."""
        return (*self.slots, AVERAGE) if self.keep else self.slots

    @property
    def formula(self) -> UpdateFormula | None:
        """The rule in the words of kernels that compute all of an update at once; None: only ``update`` knows it."""
        return None

    def factors(self, step: UpdateStep) -> tuple[float, float]:
        """What the change is multiplied by in ``step``, and what is added to what divides it."""
        return step.lr, self.delta

    def numbers(self, step: int, scale: ParameterScale) -> StepNumbers:
        """What changes from step to step (0, 1, ...), for a parameter of this ``scale``."""
        lr = self.rate(step) * scale.lr
        return StepNumbers(
            *self.factors(UpdateStep(step + 1, lr)), 1 - lr * self.weight_decay * scale.wd, self.kept(step)
        )

    def begin(self, w: Array, state: Sequence[Array]) -> None:
        """Completes a new state, which is all zeros, of the parameter ``w``: the average begins where it is."""
        if self.keep:
            state[-1][...] = w

    @abstractmethod
    def update(self, xp: Any, step: UpdateStep, w: Array, g: Array, state: Sequence[Array], t: Sequence[Array]) -> None:
        """Updates one block of ``w`` and of the rule's ``state`` in place; ``g`` is only read, ``t`` lost."""

    def bind(
        self,
        xp: Any,
        w: Array,
        g: Array,
        state: Sequence[Array],
        scale: ParameterScale,
        clock: Clock,
        norm: Array = None,
    ) -> Op:
        """Binds one update of ``w`` by ``g``, at the learning rate of ``clock.step`` when run.

        w, g and each of ``state`` (one per name in ``states``) have one shape and one floating dtype, and
        may be strided views. ``norm`` is the squared norm of all gradients, float64 of shape (1,); without it none is
        clipped to ``clip_norm``. ``run`` changes w and state in place, reads g, and allocates no array.
        """
        decay = self.weight_decay * scale.wd
        added = 0.0 if self.decoupled else decay
        extra = int(norm is not None or self.clip[0] < self.clip[1] or added > 0)
        arrays = 2 + len(state) + self.temporaries + extra
        parts = array_blocks((w, g, *state), CACHE // arrays if xp.__name__ == "numpy" else w.size)
        shape = parts[0][0].shape if parts else (0,)
        factors = [] if norm is None else [((1,), norm.dtype), ((1,), w.dtype)]
        rules = len(self.slots)

        def run(*scratch: Array) -> None:
            step = UpdateStep(clock.step + 1, self.rate(clock.step) * scale.lr)
            keep = self.kept(clock.step)
            factor = None if norm is None else _clip_factor(xp, norm, self.clip_norm, *scratch[:2])
            for part_w, part_g, *part_state in parts:
                t = [array[: len(part_w)] for array in scratch[len(factors) :]]
                gradient = self._regularise(xp, part_w, part_g, factor, added, t.pop(), t[0]) if extra else part_g
                if decay > added:
                    xp.multiply(part_w, 1 - step.lr * decay, out=part_w)
                self.update(xp, step, part_w, gradient, part_state[:rules], t)
                for mean in part_state[rules:]:
                    update_average(xp, mean, keep, part_w, t[0])

        return Op(run, [*factors, *[(shape, w.dtype)] * (self.temporaries + extra)])

    def kept(self, step: int) -> float:
        """The share of the averages that step ``step`` (0, 1, ...) keeps."""
        return min(self.keep, (1 + step) / (10 + step)) if self.warmup else self.keep

    def _regularise(self, xp: Any, w: Array, g: Array, factor: Array, decay: float, out: Array, t: Array) -> Array:
        low, high = self.clip
        if factor is not None:
            g = xp.multiply(g, factor, out=out)
        if low < high:
            g = xp.clip(g, low, high, out=out)
        if decay > 0:
            xp.multiply(w, decay, out=t)
            g = xp.add(g, t, out=out)
        return g

    def __repr__(self) -> str:
        return f"{type(self).__name__}(state {', '.join(self.states) or 'none'})"


def update_average(xp: Any, mean: Array, rho: float, value: Array, t: Array) -> None:
    """Moves a running mean: mean <- rho mean + (1 - rho) value; ``t`` is scribbled on and may be ``value``."""
    xp.multiply(mean, rho, out=mean)
    xp.multiply(value, 1 - rho, out=t)
    xp.add(mean, t, out=mean)


def write_root(xp: Any, value: Array, delta: float, out: Array) -> Array:
    """Writes sqrt(value + delta) to ``out`` and returns it."""
    xp.add(value, delta, out=out)
    return xp.sqrt(out, out=out)


def bias_correction(rate: UpdateStep, beta1: float, beta2: float) -> tuple[float, float]:
    """(c, lr √c / (1 - beta1^t)) with c = 1 - beta2^t: what corrects moments for their start at zero in step t.

    With m and v as they are, m / (1 - beta1^t) / √(v / c) is (√c / (1 - beta1^t)) m / √v (Kingma and Ba, section 2).
    """
    c = 1 - beta2**rate.number
    return c, rate.lr * c**0.5 / (1 - beta1**rate.number)


def _clip_factor(xp: Any, norm: Array, most: float, wide: Array, out: Array) -> Array:
    """What shrinks a gradient of squared ``norm`` to ``most``: 1 if it is not longer. Exact in the wider of the two."""
    xp.sqrt(norm, out=wide)
    xp.maximum(wide, most, out=wide)
    xp.divide(most, wide, out=wide)
    xp.copyto(out, wide, casting="same_kind")
    return out
