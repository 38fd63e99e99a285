"""Updater, the base class of update rules: clipping, weight decay, learning rate, averages, blocks.

One update of a parameter w with gradient g at step t, in this order:

    g <- g * clip_norm / max(norm, clip_norm)            if clip_norm > 0; norm: that of all gradients together
    g <- min(max(g, clip_low), clip_high)                if clip_high > clip_low
    g <- g + decay * w, or w <- w - lr * decay * w       if decay = weight_decay * wd_scale is above 0
    w <- rule(w, g, state) with learning rate            lr = schedule(t) * lr_scale
    a <- keep * a + (1 - keep) * w                       if ema_decay > 0; keep: ema_decay, or less in a warm-up

g itself is only read, so that it can be inspected after the step. A rule makes several passes over the same arrays. On
a CPU it therefore runs block by block: one block of all its arrays stays in the cache, and a temporary has the size of
a block, not that of the largest parameter.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from netpart.kernels.op import Array, Clock, Op
from netpart.kernels.updates import StepNumbers, UpdateFormula
from netpart.kernels.verbs import array_blocks
from netpart.proto.updater_pb2 import LRGenProto, UpdaterProto
from netpart.updaters.checks import check_field, check_fraction, check_not_negative, check_outside_root
from netpart.updaters.moments import update_average
from netpart.updaters.schedule import learning_rate_schedule

CACHE = 3 << 16
"""Elements that one block may have in all arrays of an update together: 0.75 MiB of float32."""
AVERAGE = "average"
"""Name of the state that holds the moving average of a parameter."""


@dataclass(frozen=True)
class ParameterScale:
    """The factors of one parameter: ParamProto.lr_scale and ParamProto.wd_scale."""

    lr: float = 1.0
    wd: float = 1.0


class UpdateStep(NamedTuple):
    """The step as a rule sees it: its number, counted from 1, and the learning rate of the parameter."""

    number: int
    lr: float


class Updater(ABC):
    """An update rule with known constants. Subclasses are final and define only the rule itself."""

    slots: tuple[str, ...] = ()
    """Names of the state arrays of the rule. Each has the shape and dtype of the parameter and starts at zero."""
    temporaries: ClassVar[int] = 1
    """Number of temporaries of a block's shape that ``update`` overwrites; at least 1."""
    decoupled: ClassVar[bool] = False
    """True if weight decay shrinks the parameter directly and is not added to the gradient."""
    delta: float = 0.0
    """Added to divisors, or under roots, to avoid 0 / 0."""
    outside_choices: ClassVar[tuple[bool, ...]] = (False,)
    """The values of delta_outside_root that the rule implements."""

    def __init__(self, conf: UpdaterProto) -> None:
        """Check ``conf``; raise ConfigError naming the field at fault."""
        self.rate = learning_rate_schedule(conf.learning_rate)
        self.rate_conf = conf.learning_rate
        self.weight_decay = check_not_negative(conf.weight_decay, "weight_decay")
        self.clip = (conf.clip_low, conf.clip_high)
        check_field(
            self.clip[0] <= self.clip[1], "clip_low", f"at most clip_high: {self.clip[1]}", self.clip[0], "swap them"
        )
        self.outside = check_outside_root(conf, self.outside_choices)
        self.clip_norm = check_not_negative(conf.clip_norm, "clip_norm", "0 clips nothing")
        self.keep = check_fraction(conf.ema_decay, "ema_decay")
        self.warmup = conf.ema_warmup
        self.tests_averages = conf.ema_eval
        for field in ("ema_warmup", "ema_eval"):
            lost = getattr(conf, field) and not self.keep
            check_field(not lost, field, "an ema_decay above 0 with it", conf.ema_decay, "add ema_decay: 0.999")

    def change_base_lr(self, value: float) -> None:
        """Use ``value`` in place of base_lr from the next update on: the rate of kPlateau changes during a run."""
        conf = LRGenProto()
        conf.CopyFrom(self.rate_conf)
        conf.base_lr = value
        self.rate = learning_rate_schedule(conf)

    @property
    def states(self) -> tuple[str, ...]:
        """Names of all state arrays of a parameter, as saved in checkpoints: those of the rule, then the average."""
        return (*self.slots, AVERAGE) if self.keep else self.slots

    @property
    def formula(self) -> UpdateFormula | None:
        """The rule for kernels that compute a whole update in one pass; None: only ``update`` can compute it."""
        return None

    def factors(self, step: UpdateStep) -> tuple[float, float]:
        """The (factor of the change, addend of its divisor) in ``step``: the learning rate and delta, or corrected."""
        return step.lr, self.delta

    def numbers(self, step: int, scale: ParameterScale) -> StepNumbers:
        """The numbers of an update that change with the step (0, 1, ...), for a parameter with ``scale``."""
        lr = self.rate(step) * scale.lr
        return StepNumbers(
            *self.factors(UpdateStep(step + 1, lr)), 1 - lr * self.weight_decay * scale.wd, self.kept(step)
        )

    def begin(self, w: Array, state: Sequence[Array]) -> None:
        """Complete a new state, which is all zeros, of parameter ``w``: the average starts at ``w``."""
        if self.keep:
            state[-1][...] = w

    @abstractmethod
    def update(self, xp: Any, step: UpdateStep, w: Array, g: Array, state: Sequence[Array], t: Sequence[Array]) -> None:
        """Update one block of ``w`` and ``state`` in place with array module ``xp``; read ``g``, overwrite ``t``."""

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
        """Bind one update of ``w`` by ``g``; when it runs, it uses the learning rate of ``clock.step``.

        w, g and each of ``state`` (one per name in ``states``) have the same shape and floating dtype; they may be
        strided views. ``norm`` is the squared norm of all gradients, float64 of shape (1,). If it is None, nothing is
        clipped to ``clip_norm``. ``run`` changes w and state in place, reads g, and allocates no array.
        """
        decay = self.weight_decay * scale.wd
        added = 0.0 if self.decoupled else decay
        extra = int(norm is not None or self.clip[0] < self.clip[1] or added > 0)  # g is only read: needs a temporary
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
                # The last block may be shorter. The last temporary holds the changed gradient, not for ``update``.
                t = [array[: len(part_w)] for array in scratch[len(factors) :]]
                gradient = self._regularise(xp, part_w, part_g, factor, added, t.pop(), t[0]) if extra else part_g
                if decay > added:  # decoupled; before the rule, so that it shrinks the old w
                    xp.multiply(part_w, 1 - step.lr * decay, out=part_w)
                self.update(xp, step, part_w, gradient, part_state[:rules], t)
                for mean in part_state[rules:]:
                    update_average(xp, mean, keep, part_w, t[0])

        return Op(run, [*factors, *[(shape, w.dtype)] * (self.temporaries + extra)])

    def kept(self, step: int) -> float:
        """The share of the averages that step ``step`` (0, 1, ...) keeps: less in a warm-up, while w changes fast."""
        return min(self.keep, (1 + step) / (10 + step)) if self.warmup else self.keep

    def _regularise(self, xp: Any, w: Array, g: Array, factor: Array, decay: float, out: Array, t: Array) -> Array:
        """Return the clipped gradient plus decay: ``g`` itself if nothing changes it, else ``out``."""
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


def _clip_factor(xp: Any, norm: Array, most: float, wide: Array, out: Array) -> Array:
    """Write min(1, most / √norm), which clips a gradient, to ``out``; computed in ``wide`` and rounded only once."""
    xp.sqrt(norm, out=wide)
    xp.maximum(wide, most, out=wide)
    xp.divide(most, wide, out=wide)
    xp.copyto(out, wide, casting="same_kind")
    return out
