"""Part calls: the kernels of one part, bound to arrays of their own with random contents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from netpart.kernels.bfloat16 import ELEMENT
from netpart.kernels.op import Array, Clock, Op
from netpart.kernels.reference import Kernels
from netpart.layers.layer import MemoryReuse, ParamSpec
from netpart.layers.part import Call
from netpart.plan.timings.part_question import PartQuestion, empty_ordered, ordered_numbers
from netpart.program.memory_orders import channels_last_order, rounded_order
from netpart.spec import BFLOAT16, FLOAT, INT, TENSOR, Region, Shape, Spec, extent

FORWARD, INPUTS, PARAMS, BACKWARD = "forward", "inputs", "params", "backward"
"""The passes of a part: BACKWARD is the gradients of inputs and parameters together, where they cannot be separated."""


def backward_passes(question: PartQuestion) -> tuple[str, ...]:
    """The calls of backward that a part makes in training."""
    if not question.layer.splits_backward:
        return (BACKWARD,) if any(question.wanted) or question.trains else ()
    return (*((INPUTS,) if any(question.wanted) else ()), *((PARAMS,) if question.trains else ()))


class PartCall:
    """The call of a part, forward and then backward. With ``drawn`` False its arrays have no contents, and take no
    memory until they are used."""

    def __init__(self, question: PartQuestion, kernels: Kernels, drawn: bool = True) -> None:
        self.question = question
        self.kernels = kernels
        self.drawn = drawn
        layer = question.layer
        narrow = question.narrow and layer.takes_bfloat16(type(kernels))
        self.element = BFLOAT16 if narrow else FLOAT
        needs = question.needs
        inputs = zip(needs.inputs, layer.inputs, strict=True)
        outputs = zip(layer.outputs_of(question.region), layer.outputs, strict=True)
        self.call = Call(
            question.region, needs, question.term,
            x=[self.input(k, box, spec) for k, (box, spec) in enumerate(inputs)],
            w=[self.parameter(k, box) for k, box in enumerate(needs.params)],
            y=[self.tensor(box, spec) for box, spec in outputs],
            aux=[self.kept(shape, dtype) for shape, dtype in layer.aux(type(kernels), question.region)],
            metrics=np.zeros(len(layer.metrics)), rows=layer.output.shape[0] if layer.output.shape else 1,
            clock=Clock(1),
        )  # fmt: skip
        # A step lets an output overwrite its input where that is allowed: less memory passes through the caches.
        if (
            layer.reuse[0] == MemoryReuse.OVER
            and "x" not in layer.rereads
            and _are_alike(self.call.x[0], self.call.y[0])
        ):
            self.call.y[0] = self.call.x[0]

    def forward(self) -> Op:
        """The forward pass. An input copies rows, as if it had read them: what reading takes depends on its files."""
        if self.question.layer.is_input:
            rows = [self._array(y.shape, y.dtype) for y in self.call.y]
            return self.kernels.feed(self.call.y, lambda *ys: _copy_all(ys, rows))
        return self.question.layer.forward(self.kernels, self.call)

    def backward(self, which: str) -> Op:
        """The gradients of ``which``: INPUTS, PARAMS or both. Forward must be bound before."""
        question = self.question
        call = self.call
        layer = question.layer
        inputs = which != PARAMS
        params = which != INPUTS and question.trains
        first = layer.output.dtype == FLOAT
        call.dy = [self.tensor(question.region, layer.output) if first else None] + [None] * (len(call.y) - 1)
        call.dx = [_empty_like(x) if inputs and want else None for x, want in zip(call.x, question.wanted, strict=True)]
        if layer.reuse[1] == MemoryReuse.OVER and call.dx[0] is not None and _are_alike(call.dx[0], call.dy[0]):
            call.dx[0] = call.dy[0]
        call.dw = [
            self._gradient(w, spec) if params and w is not None and not spec.read_only else None
            for w, spec in zip(call.w, layer.params, strict=True)
        ]
        return layer.backward(self.kernels, call)

    def input(self, k: int, box: Region | None, spec: Spec) -> Array:
        """An array for a region of input ``k``."""
        exact = k in self.question.layer.exact_inputs and spec.dtype == FLOAT
        return self.tensor(box, replace(spec, dtype=str(self.kernels.dtype)) if exact else spec, self._classes(k))

    def tensor(self, box: Region | None, spec: Spec, below: int = 2) -> Array:
        """An array for a region of a tensor."""
        shape = (0,) * spec.rank if box is None else extent(box)
        return self._in_order(shape, spec.dtype, below)

    def kept(self, shape: Shape, dtype: Any) -> Array:
        """An array that the layer keeps for backward."""
        return self._in_order(shape, self.kernels.dtype if dtype == FLOAT else dtype)

    def parameter(self, k: int, box: Region | None) -> Array:
        """An array for a region of parameter ``k``, in the order of one that no other process has, or of its copy in
        bfloat16; None for none."""
        if box is None:
            return None
        spec = self.question.layer.params[k]
        if not spec.factor:
            return self._array(extent(box), str(self.kernels.dtype), self._parameter_order(spec))
        order = rounded_order(spec) if self.element == BFLOAT16 else self._parameter_order(spec)
        return self._array(extent(box), TENSOR, order)

    def _gradient(self, w: Array, spec: ParamSpec) -> Array:
        """An array for the gradient of ``w``, in the order of a parameter that no other process has."""
        return empty_ordered(w.shape, self.kernels.dtype, self._parameter_order(spec))

    def _parameter_order(self, spec: ParamSpec) -> tuple[int, ...]:
        last = spec.channels_last and self.kernels.weights_last
        return channels_last_order(len(spec.shape)) if last else ()

    def _classes(self, k: int) -> int:
        """The number below which the whole numbers of input ``k`` must be."""
        layer = self.question.layer
        width = prod(layer.inputs[0].shape[1:]) if k else 0
        return layer.classes or width or 2

    def _in_order(self, shape: Shape, dtype: Any, below: int = 2) -> Array:
        """An array in the memory order of the part's tensors, if it has as many axes as these."""
        order = self.question.order
        return self._array(shape, dtype, order if len(shape) == len(order) else (), below)

    def _array(self, shape: Shape, dtype: Any, order: tuple[int, ...] = (), below: int = 2) -> Array:
        tensor = ELEMENT if self.element == BFLOAT16 else self.kernels.dtype
        kind = np.dtype({FLOAT: tensor, TENSOR: tensor, INT: "int32"}.get(dtype, dtype))
        return ordered_numbers(shape, kind, order, below) if self.drawn else empty_ordered(shape, kind, order)


def _are_alike(a: Array, b: Array) -> bool:
    """True if two arrays have the same shape and kind."""
    return a is not None and b is not None and (a.shape, a.dtype) == (b.shape, b.dtype)


def _copy_all(targets: Sequence[Array], sources: Sequence[Array]) -> None:
    """Copy each array."""
    for target, source in zip(targets, sources, strict=True):
        target[...] = source


def _empty_like(array: Array) -> Array:
    """An array of the same shape, kind and memory order."""
    return np.empty_like(array)
