"""Updates of parameters: SGD, Adam and AdamW as one to five primitives for each strip of parameter, gradient and state.

Each primitive adds two scaled arrays, multiplies or divides them, and adds the result to what its target held. Numbers
that change from step to step are read from memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from netpart.kernels import updates
from netpart.kernels.onednn.activation_calls import add_binary, post_op_argument
from netpart.kernels.onednn.calls import Args, Calls, OneDnnVerbs
from netpart.kernels.onednn.library import OneDnnRefused
from netpart.kernels.onednn.memory import DnnlMemory, MemoryDesc, share_layout
from netpart.kernels.onednn.names import Algorithm, Arg
from netpart.kernels.onednn.primitive import Attributes, scale_argument
from netpart.kernels.op import Array, Clock, Op
from netpart.kernels.updates import UpdateFormula

LEAST = 1 << 12
"""The least elements for which SGD by oneDNN takes less time than by NumPy, whose few calls start sooner."""
STRIP = 1 << 19
"""Elements of a strip, all arrays of which fit the third-level cache."""


class Updates(updates.Updates, OneDnnVerbs):
    """The verbs of the reference; oneDNN does the rules of ``RULES``, unless elements of the gradient are clipped."""

    def update(self, updater: Any, w: Array, g: Array, state: Any, scale: Any, clock: Clock, norm: Array = None) -> Op:
        """One update of ``w`` by ``g``, as in ``Updater.bind``."""
        if w.size < LEAST and len(state) < 2:
            return super().update(updater, w, g, state, scale, clock, norm)

        def describe(calls: Calls) -> None:
            rule = _RuleCalls(calls, updater, scale, clock, norm)
            flat = [_flat_view(array, w) for array in (w, g, *state)]
            for lo in range(0, w.size, STRIP):
                rule.add_strip(*(_row_memory(array[lo : lo + STRIP]) for array in flat))

        return self.attempt(describe, super().update, updater, w, g, state, scale, clock, norm)


class _RuleCalls:
    """The calls of the rule of ``updater``; ``add_strip`` appends those of a strip.

    A scale is the name of a number in ``numbers``. Raises OneDnnRefused for a rule that is not in ``RULES``.
    """

    def __init__(self, calls: Calls, updater: Any, scale: Any, clock: Clock, norm: Array) -> None:
        formula: UpdateFormula = updater.formula or UpdateFormula("")
        name, self.first, self.second = formula
        if name not in RULES or updater.clip[0] < updater.clip[1]:
            raise OneDnnRefused(f"oneDNN: expected one of {', '.join(RULES)} without clip_low, got {updater}")
        self.rule = RULES[name]
        self.calls = calls
        self.outside = updater.outside
        self.averages = updater.keep > 0
        decay = updater.weight_decay * scale.wd
        self.shrinks = updater.decoupled and decay > 0
        self.added = 0.0 if updater.decoupled else decay
        self.changed = norm is not None or self.added > 0
        self.temporaries: dict[tuple[str, int], DnnlMemory] = {}
        self.numbers: Array = np.ones(len(NUMBERS), np.float32)
        calls.then(lambda: self._read(updater, scale, clock.step, norm))

    def _read(self, updater: Any, scale: Any, step: int, norm: Array) -> None:
        """Write the numbers of a step; the first of them stays 1."""
        rate, delta, shrink, keep = updater.numbers(step, scale)
        clip = 1.0 if norm is None else updater.clip_norm / max(updater.clip_norm, float(norm[0]) ** 0.5)
        fresh = 1 - self.first, 1 - self.second
        rates = -rate, -rate * clip, -rate * self.added
        self.numbers[1:] = (clip, self.added, *rates, delta, shrink - 1, keep, 1 - keep, *fresh)

    def add_strip(self, w: DnnlMemory, g: DnnlMemory, *state: DnnlMemory) -> None:
        """Append the update of a strip, and of its average, the last state, if there is one."""
        self.rule(self, w, g, *state)
        if self.averages:
            self._add(state[-1], "keep", w, "fresh", state[-1])

    def sgd(self, w: DnnlMemory, g: DnnlMemory, *_: DnnlMemory) -> None:
        """Append w -= lr · gradient."""
        self._add_gradient(w, g, "clipped rate", "decayed rate", w, 1.0)

    def momentum(self, w: DnnlMemory, g: DnnlMemory, h: DnnlMemory, *_: DnnlMemory) -> None:
        """Append h = momentum · h - lr · gradient, and w += h."""
        self._add_gradient(w, g, "clipped rate", "decayed rate", h, self.first)
        add_binary(self.calls, Algorithm.BINARY_ADD, w, h, w)

    def adam(self, w: DnnlMemory, g: DnnlMemory, m: DnnlMemory, v: DnnlMemory, *_: DnnlMemory) -> None:
        """Append the means m and v of gradient and square, and w -= lr · m / root of v; a decoupled decay is in it."""
        if self.changed:
            made = self._temporary("gradient", g)
            self._add_gradient(w, g, "clip", "decay", made, 0.0)
            g = made
        self._binary(Algorithm.BINARY_MUL, g, "fresh first", self._operand("one"), "one", m, self.first)
        self._binary(Algorithm.BINARY_MUL, g, "fresh second", g, "one", v, self.second)
        change = self._temporary("change", w)
        self._add_root(v, change)
        if not self.shrinks:
            return self._binary(Algorithm.BINARY_DIV, m, "rate", change, "one", w, 1.0)
        self._binary(Algorithm.BINARY_DIV, m, "rate", change, "one", change)
        self._add(w, "shrink", change, "one", w, 1.0)

    def _add_gradient(
        self, w: DnnlMemory, g: DnnlMemory, scale: str, decay: str, target: DnnlMemory, keep: float
    ) -> None:
        """Append target = keep · target + scale · g + decay · w."""
        if self.added:
            return self._add(g, scale, w, decay, target, keep)
        self._binary(Algorithm.BINARY_MUL, g, scale, self._operand("one"), "one", target, keep)

    def _add_root(self, v: DnnlMemory, target: DnnlMemory) -> None:
        """Append target = √(v + delta), or √v + delta if delta is outside of the root."""
        delta = self._operand("delta")
        if not self.outside:
            return add_binary(self.calls, Algorithm.BINARY_ADD, v, delta, target, Attributes().eltwise(Algorithm.SQRT))
        post = Attributes().eltwise(Algorithm.SQRT).binary(Algorithm.BINARY_ADD, delta.desc)
        others: Args = {post_op_argument(1): delta}
        add_binary(self.calls, Algorithm.BINARY_MUL, v, self._operand("one"), target, post, others)

    def _add(
        self, a: DnnlMemory, a_scale: str, b: DnnlMemory, b_scale: str, target: DnnlMemory, keep: float = 0.0
    ) -> None:
        """Append target = keep · target + a_scale · a + b_scale · b."""
        self._binary(Algorithm.BINARY_ADD, a, a_scale, b, b_scale, target, keep)

    def _binary(
        self, algorithm: Algorithm, a: DnnlMemory, a_scale: str, b: DnnlMemory, b_scale: str, target: DnnlMemory,
        keep: float = 0.0,
    ) -> None:  # fmt: skip
        """Append target = keep · target + algorithm(a_scale · a, b_scale · b)."""
        named = {Arg.SRC: a_scale, Arg.SRC_1: b_scale}
        post = Attributes().scales(*(arg for arg, name in named.items() if name != "one"))
        others: Args = {scale_argument(arg): self._operand(name, 1) for arg, name in named.items() if name != "one"}
        add_binary(self.calls, algorithm, a, b, target, post.sum(keep) if keep else post, others)

    def _temporary(self, name: str, like: DnnlMemory) -> DnnlMemory:
        """The temporary of a strip, the same for all strips of its size."""
        key = name, like.desc.nbytes
        if key not in self.temporaries:
            self.temporaries[key] = self.calls.temporary(like.desc)
        return self.temporaries[key]

    def _operand(self, name: str, axes: int = 2) -> DnnlMemory:
        """The memory of a number, as a tensor of one element."""
        return DnnlMemory(MemoryDesc.strided((1,) * axes, (1,) * axes), self.numbers[NUMBERS.index(name) :])


NUMBERS = (
    "one", "clip", "decay", "rate", "clipped rate", "decayed rate", "delta", "shrink", "keep", "fresh",
    "fresh first", "fresh second",
)  # fmt: skip
"""The names of the numbers of a step: rates are negative, "shrink" is what w loses, "fresh" is the weight of the new
value in an average."""
RULES: dict[str, Callable[..., None]] = {
    "sgd": _RuleCalls.sgd, "momentum": _RuleCalls.momentum, "adam": _RuleCalls.adam, "adamw": _RuleCalls.adam,
}  # fmt: skip
"""The rules, by the name of their UpdateFormula."""


def _flat_view(array: Array, like: Array) -> Array:
    """The elements of ``array`` in the order of memory. Raises OneDnnRefused if that is not the order of ``like``."""
    if array.dtype != np.float32 or not share_layout(array, like):
        raise OneDnnRefused(f"oneDNN: expected float32 without gaps, got {array.dtype} in strides {array.strides}")
    return array.ravel(order="K")


def _row_memory(array: Array) -> DnnlMemory:
    """The memory of 1-D ``array`` as a matrix of one row."""
    return DnnlMemory(MemoryDesc.strided((1, array.size), (array.size, 1)), array)
