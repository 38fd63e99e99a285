"""Interpolation along all spatial axes in one kernel, which reads only elements with a weight other than 0."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from netpart.kernels import resample
from netpart.kernels.cuda.moves import MoveVerbs
from netpart.kernels.cuda.view import StridedView
from netpart.kernels.op import Array, Op
from netpart.kernels.verbs import NOTHING, data_address

AXES, RANK = 3, 5
TAPS = np.dtype([("range", "u8"), ("weight", "u8"), ("across", "i8"), ("along", "i8")])
WALK = np.dtype([(name, "i8", RANK) for name in ("shape", "target", "source", "axis")] + [("step", "i8", AXES)])
"""The structs of resample.cu."""


class Resample(resample.Resample, MoveVerbs):
    """x (B, C, *in), y (B, C, *out), weights: per spatial axis (out, in); up to three axes, of any strides."""

    def resample(self, x: Array, y: Array, weights: Sequence[Array], transpose: bool = False) -> Op:
        """y = x with every axis multiplied by its weights; with ``transpose`` x, a gradient, is computed from y's."""
        if not x.size or not y.size:
            return NOTHING if not transpose else self.zeroed(x)
        source, target = (y, x) if transpose else (x, y)
        taps = self._taps([w.T if transpose else w for w in weights])
        return self.launch(
            "resample.cu", "resample", target.size, source, target, _walk_struct(source, target), taps, target.size
        )

    def _taps(self, weights: Sequence[Array]) -> StridedView:
        """struct Every: the source positions with weights, and the weights' addresses; weight 1 on missing axes."""
        xp = self.xp
        found = np.zeros(AXES, TAPS)
        alive = []
        for axis in range(AXES):
            w = weights[axis] if axis < len(weights) else xp.ones((1, 1), self.dtype)
            spans = xp.asarray(_weight_spans(xp.asnumpy(w) if hasattr(xp, "asnumpy") else w))
            across, along = (step // w.itemsize for step in w.strides)
            found[axis] = data_address(spans), data_address(w), across, along
            alive += [spans, w]
        return StridedView(alive, _single_struct(found))


def _weight_spans(w: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The first position and the last + 1 in each row of ``w`` that is not 0, int32 (rows, 2)."""
    there = w != 0
    some = there.any(axis=1)
    low = there.argmax(axis=1)
    high = w.shape[1] - there[:, ::-1].argmax(axis=1)
    return np.ascontiguousarray(np.stack([low * some, high * some], axis=1), np.int32)


def _walk_struct(source: Array, target: Array) -> StridedView:
    """struct Walk, over the target in its memory order."""
    axes = sorted(range(target.ndim), key=lambda axis: -target.strides[axis])
    outer = RANK - len(axes)
    found = np.zeros((), WALK)
    found["shape"], found["axis"] = 1, -1
    for at, axis in enumerate(axes, outer):
        found["shape"][at] = target.shape[axis]
        found["target"][at] = target.strides[axis] // target.itemsize
        if axis < 2:
            found["source"][at] = source.strides[axis] // source.itemsize
        else:
            found["axis"][at] = axis - 2
            found["step"][axis - 2] = source.strides[axis] // source.itemsize
    return StridedView(None, found)


def _single_struct(records: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """All of ``records`` as one struct, which is passed by value."""
    found = np.zeros((), [("all", records.dtype, records.shape)])
    found["all"] = records
    return found
