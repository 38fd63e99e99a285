"""Execution of parts of a layer as on a worker: a part gets the regions of its ``needs``; other memory is poisoned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any

import numpy as np

from netpart.kernels.op import Clock, Op
from netpart.kernels.reference import Kernels
from netpart.layers.layer import Layer, MemoryOrder
from netpart.layers.part import Call, Needs
from netpart.spec import FLOAT, INT, TENSOR, Region, Shape, extent, relative_slices, whole_region

Arrays = list[Any]

SEED, STEP = 11, 5
IGNORED = 0.3
"""The share of labels that are ignored, where a layer ignores one."""
KERNELS = Kernels(np, "float64")


def poisoned_array(shape: Shape, dtype: Any = FLOAT, compute: Any = "float64") -> Any:
    """An array filled with values that no kernel may use: NaN, or the largest integer.

    ``dtype`` may be FLOAT, TENSOR or INT; ``compute`` is the dtype of the first two.
    """
    kind = np.dtype({FLOAT: compute, TENSOR: compute, INT: "int32"}.get(dtype, dtype))
    return np.full(shape, np.nan if kind.kind == "f" else np.iinfo(kind).max if kind.kind in "iu" else True, kind)


def run_poisoned(op: Op) -> None:
    """Run an Op with poisoned scratch arrays: its contents are undefined in a real run."""
    op.run(*(poisoned_array(shape, dtype) for shape, dtype in op.scratch))


@dataclass
class LayerData:
    """Uncut arrays for a layer: inputs, parameters, and the gradient of the output."""

    x: Arrays
    w: Arrays
    dy: Any


def make_layer_data(layer: Layer, seed: int) -> LayerData:
    """Draw data with distinct numbers, none near 0, so that small steps cross neither a tie nor a kink.

    The offsets of the sources differ by irrational numbers, so that two sources never have a number in common.
    """
    rng = np.random.default_rng(seed)

    def numbers(shape: Shape, k: int = 0) -> Any:
        n = prod(shape)
        offset = 0.25 + 0.1 * (2**0.5 - 1) * k
        return ((rng.permutation(n) + offset) / max(n, 1) * 2 - 1).reshape(shape)

    def labels(shape: Shape, k: int) -> Any:
        width = prod(layer.inputs[0].shape[len(shape) if k else 1 :])
        classes = layer.classes if k and layer.classes else min(width, layer.classes or width)
        found = rng.integers(0, classes, shape, "int32")
        if layer.ignored_label is not None:
            found[rng.random(shape) < IGNORED] = layer.ignored_label
        return found

    x = [numbers(s.shape, k) if s.dtype == FLOAT else labels(s.shape, k) for k, s in enumerate(layer.inputs)]
    # A running variance, which is a moment about a mean, is positive.
    w = [np.abs(numbers(p.shape)) if p.running and p.running.mean else numbers(p.shape) for p in layer.params]
    return LayerData(x, w, numbers(layer.output.shape))


@dataclass
class PlayedPart:
    """The results of one part; ``dx`` and ``dw`` are empty if backward was not run."""

    needs: Needs
    y: Any
    metrics: Any
    dx: Arrays
    dw: Arrays


def take_region(array: Any, region: Region | None) -> Any:
    """A contiguous copy of a region; None if the region is None."""
    return None if region is None else array[relative_slices(region, whole_region(array.shape))].copy()


def play_part(
    layer: Layer,
    data: LayerData,
    region: Region | None = None,
    term: Region | None = None,
    *,
    own: Region | None = None,
    backward: bool = True,
    kernels: Kernels = KERNELS,
) -> PlayedPart:
    """Run one part forward and backward; ``own`` is the box of its region that it owns (default: all).

    Arrays have the compute dtype of ``kernels`` and the memory order that these prefer; parameters are row-major.
    """
    region = layer.output.whole if region is None else region
    own = region if own is None else own
    needs = layer.needs(region, term)
    lay = partial(_in_kernel_order, layer, kernels)
    call = Call(
        region, needs, term,
        x=[lay(take_region(x, need)) for x, need in zip(data.x, needs.inputs, strict=True)],
        w=[_in_compute_dtype(take_region(w, need), kernels) for w, need in zip(data.w, needs.params, strict=True)],
        y=[lay(poisoned_array(extent(r), s.dtype)) for r, s in zip(layer.outputs_of(region), layer.outputs,
        strict=True)],
        aux=[lay(poisoned_array(*aux, kernels.dtype)) for aux in layer.aux(type(kernels), region)],
        metrics=np.zeros(len(layer.metrics)), owned=_owned_elements(region, own),
        rows=layer.output.shape[0], seed=SEED, clock=Clock(STEP),
    )  # fmt: skip
    run_poisoned(layer.forward(kernels, call))
    y = call.y[0].copy()  # before ``_poison_unread`` may overwrite it
    if backward:
        _poison_unread(layer, call)
        call.dy = [lay(_owned_gradient(data.dy, region, own))]
        call.dx = [None if x is None or x.dtype != kernels.dtype else lay(poisoned_array(x.shape)) for x in call.x]
        call.dw = [
            None if w is None or spec.read_only else _in_compute_dtype(poisoned_array(w.shape), kernels)
            for w, spec in zip(call.w, layer.params, strict=True)
        ]
        run_poisoned(layer.backward(kernels, call))
    return PlayedPart(needs, y, call.metrics, call.dx, call.dw)


def _in_compute_dtype(array: Any, kernels: Kernels) -> Any:
    """``array`` in the compute dtype of ``kernels`` if it is float64, else ``array`` itself."""
    return array.astype(kernels.dtype) if array is not None and array.dtype == np.float64 else array


def _in_kernel_order(layer: Layer, kernels: Kernels, array: Any) -> Any:
    """A tensor of ``layer`` as ``kernels`` get it in a run: in their dtype, and channels last if both prefer that."""
    found = _in_compute_dtype(array, kernels)
    last = kernels.channels_last and layer.memory_order != MemoryOrder.PLAIN
    if found is None or not last or not found.ndim == layer.output.rank > 2:
        return found
    # The shape stays (batch, channels, space); only the strides change.
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(found, 1, -1)), -1, 1)


def _poison_unread(layer: Layer, call: Call) -> None:
    """Poison the inputs and outputs that backward does not read, by the layer's ``rereads``: a run may free them."""
    for name, arrays in (("x", call.x), ("y", call.y)):
        for array in arrays if name not in layer.rereads else ():
            if array is not None:
                array[...] = poisoned_array(array.shape, array.dtype)


def _owned_elements(region: Region, own: Region) -> Any:
    """The mask of the elements of ``region`` that lie in ``own``; None if all do."""
    mask = np.zeros(extent(region), bool)
    mask[relative_slices(own, region)] = True
    return None if mask.all() else mask


def _owned_gradient(dy: Any, region: Region, own: Region) -> Any:
    """The gradient of ``region``, with 0 outside of ``own``: elements that another part owns are not counted twice."""
    part = np.zeros(extent(region))
    part[relative_slices(own, region)] = take_region(dy, own)
    return part


def scatter_add(total: Any, part: Any, region: Region | None) -> None:
    """Add the gradient of a part to ``total`` at ``region``."""
    if region is not None:
        total[relative_slices(region, whole_region(total.shape))] += part


def is_close(a: Any, b: Any, tolerance: float) -> bool:
    """True if ``a`` equals ``b`` within ``tolerance``, relative to 1 + the largest element of ``b``."""
    return bool(np.abs(np.asarray(a) - b).max(initial=0) <= tolerance * (1 + np.abs(b).max(initial=0)))


def all_finite(arrays: Sequence[Any]) -> bool:
    """True if no array contains NaN, the poison, or infinity."""
    return all(np.isfinite(a).all() for a in arrays if a is not None)
