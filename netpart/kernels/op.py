"""Op: one kernel call bound to its arrays, with all work done that does not depend on the step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from operator import itemgetter
from typing import Any

import numpy as np

Array = Any
"""A numpy or cupy array: the reference kernels are written once against the array module ``xp``."""
Box = tuple[slice, ...]
"""A part of an array, one slice per axis."""


@dataclass
class Clock:
    """The state that changes from step to step; Ops that depend on it hold a reference and read it when run."""

    step: int = 0


@dataclass(frozen=True)
class Op:
    """A kernel bound to its arrays; ``run(*scratch)`` does the work.

    ``scratch`` lists (shape, dtype) of temporaries. All Ops of a worker run one after another. So the worker allocates
    one workspace, as large as the largest need of an Op, and passes each Op its slices: contents are undefined on entry
    and lost on exit. Nothing else may be allocated inside ``run``.
    ``captured``: on a GPU ``run`` only enqueues work, the same in every step, so that a CUDA graph may repeat it.
    """

    run: Callable[..., None]
    scratch: Sequence[tuple[tuple[int, ...], Any]] = field(default=())
    captured: bool = True


@dataclass(frozen=True)
class Window:
    """Geometry of a convolution or pooling on one part, one entry per spatial axis.

    ``pads`` are (low, high) and may differ: padding exists only at the border of the *uncut* tensor,
    so an inner part has 0 where the border part has the layer's pad (docs/partition.md). A negative high
    pad does not occur; unused input rows at the high end (floor shapes) are not read. ``dilation``
    is the distance of neighbouring kernel elements; empty: 1 on every axis.
    """

    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    pads: tuple[tuple[int, int], ...]
    dilation: tuple[int, ...] = ()


def chain_ops(*ops: Op) -> Op:
    """One Op that runs ``ops`` in order. Temporaries of one shape and dtype are shared by all of them."""
    wanted: list[Any] = []
    parts = [(op.run, _scratch_picker(_scratch_places(wanted, op.scratch))) for op in ops]

    def run(*scratch: Array) -> None:
        for part, pick in parts:
            part(*pick(scratch))

    return Op(run, wanted, all(op.captured for op in ops))


def op_scratch_bytes(op: Op) -> int:
    """Bytes of the scratch of ``op``, each array padded."""
    return sum(padded_bytes(shape, dtype) for shape, dtype in op.scratch)


def padded_bytes(shape: tuple[int, ...], dtype: Any) -> int:
    """Bytes of an array of a workspace, with room to align the next one."""
    return -(-prod(shape) * int(np.dtype(dtype).itemsize) // 64) * 64


def _scratch_places(wanted: list[Any], scratch: Sequence[Any]) -> list[int]:
    """The positions of an Op's ``scratch`` in ``wanted``, to which it appends what is missing there."""
    places: list[int] = []
    for need in scratch:
        # Shared between Ops, never within one: two temporaries of one Op are in use at the same time.
        alike = (i for i, each in enumerate(wanted) if each == need and i not in places)
        places.append(next(alike, len(wanted)))
        wanted += [need] if places[-1] == len(wanted) else []
    return places


def _scratch_picker(places: list[int]) -> itemgetter[Any]:
    """The function that takes the elements at ``places`` from a tuple, as a tuple."""
    # A slice, because an itemgetter of a single index would return the element and not a tuple.
    start = places[0] if places else 0
    run = slice(start, start + len(places))
    return itemgetter(run) if places == list(range(run.start, run.stop)) else itemgetter(*places)
