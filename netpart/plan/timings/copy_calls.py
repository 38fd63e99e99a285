"""Copy calls: copies within a worker, of a tensor to another memory order or into a window of a larger array."""

from __future__ import annotations

from math import prod

import numpy as np

from netpart.kernels.reference import Kernels
from netpart.plan.timings.call_seconds import SWEPT
from netpart.plan.timings.call_times import TimedCall
from netpart.plan.timings.part_question import ordered_numbers
from netpart.program.buffers import Order
from netpart.spec import Shape

COPIED = 1 << 23
"""Elements of the largest copy that is timed: of more, fewer of the first axis are copied."""

COLD = 2 * SWEPT
"""Bytes that are written before a copy into a window: the larger tensor was last used a step ago."""


def reordering_call(kernels: Kernels, shape: Shape, source: Order, target: Order) -> TimedCall:
    """The copy of a tensor of ``shape`` from one memory order to another."""
    few, ratio = _with_fewer_rows(shape)
    old, new = (ordered_numbers(few, np.dtype(kernels.dtype), order) for order in (source, target))
    return TimedCall(kernels.copy(new, old), (old,), ratio)


def window_call(kernels: Kernels, shape: Shape, whole: Shape, order: Order) -> TimedCall:
    """The copy of a tensor of ``shape`` into a window of an array of the shape ``whole``, both in ``order``."""
    few, ratio = _with_fewer_rows(shape)
    rows = few[0] + whole[0] - shape[0] if shape else 0
    around = ordered_numbers((rows, *whole[1:]), np.dtype(kernels.dtype), order)
    part = ordered_numbers(few, np.dtype(kernels.dtype), order)
    return TimedCall(kernels.copy(around[tuple(slice(n) for n in few)], part), (part,), ratio, COLD)


def _with_fewer_rows(shape: Shape) -> tuple[Shape, float]:
    """``shape`` with as many rows as COPIED allows, and how many times as many it had."""
    rows = max(1, shape[0] * COPIED // max(1, prod(shape))) if shape else 1
    return (shape, 1.0) if not shape or rows >= shape[0] else ((rows, *shape[1:]), shape[0] / rows)


def axes_text(order: Order) -> str:
    """A memory order as text."""
    return "".join(map(str, order)) or "-"


def extents_text(shape: Shape) -> str:
    """A shape as text."""
    return "x".join(map(str, shape)) or "1"
