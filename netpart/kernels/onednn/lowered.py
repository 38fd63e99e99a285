"""Convolution as one matrix product: for the last layers of a net, with few places and many weights, and for gradients
that oneDNN has wrong.

    x (B, C, *in) ──gather──▶ columns (places, C·k)      y = columns wᵀ      dw = dyᵀ columns
    dx            ◀─scatter──                            columns' = dy w

A place is one position of one output image. The weights are read once, in the order in which they are stored, which is
also that of the columns: C·k, or k·C where the channels are last; in bfloat16 a narrow copy of them is made if they are
not one. A direct convolution first copies them to an order of its own in every run, which takes as long as the
convolution where there are fewer places than filters. Known as lowering: Chellapilla et al., High Performance
Convolutional Neural Networks, 2006, section 3.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from netpart.kernels.activation import Kind
from netpart.kernels.bfloat16 import is_bfloat16
from netpart.kernels.onednn.activation import append_activation
from netpart.kernels.onednn.calls import Args, Calls
from netpart.kernels.onednn.gradient_windows import has_right_gradients
from netpart.kernels.onednn.memory import DnnlMemory, MemoryDesc, channels_last_strides, dense_strides, tidy_strides
from netpart.kernels.onednn.names import Arg
from netpart.kernels.onednn.portions import add_channel_sums
from netpart.kernels.onednn.primitive import Attributes, PrimitiveDesc
from netpart.kernels.onednn.turned_products import ProductShape, try_turned_product
from netpart.kernels.op import Array, Window
from netpart.kernels.pooling import window_taps

MOST_COLUMNS = 1 << 22
"""The most elements of columns where a product is not faster, but right."""


def lowering_pays(w: Array, y: Array, window: Window, groups: int) -> bool:
    """True if a product is possible and faster: it has fewer places than filters."""
    return _count_places(y) < len(w) and _can_lower(w, y, window, groups)


def is_gradient_lowered(x: Array, w: Array, y: Array, window: Window, groups: int) -> bool:
    """True if gradients are computed as a product: where it is faster, and where oneDNN's own may be wrong."""
    if has_right_gradients(x, y, window, groups):
        return lowering_pays(w, y, window, groups)
    return _can_lower(w, y, window, groups) and _count_places(y) * prod(w.shape[1:]) <= MOST_COLUMNS


def _can_lower(w: Array, y: Array, window: Window, groups: int) -> bool:
    """True if a product is possible: no groups, no dilation, w and y in the usual memory orders."""
    stretched = any(d > 1 for d in window.dilation)
    usual = (w.flags.c_contiguous or _is_channels_last(w)) and tidy_strides(
        y.shape, [s // y.itemsize for s in y.strides]
    ) == channels_last_strides(y.shape)
    return groups == 1 and not stretched and usual and _count_places(y) > 0


def _is_channels_last(w: Array) -> bool:
    """True if the weights (F, C, *k) lie as (F, *k, C), and not row-major."""
    return not w.flags.c_contiguous and bool(np.moveaxis(w, 1, -1).flags.c_contiguous)


def _count_places(y: Array) -> int:
    return len(y) * int(prod(y.shape[2:]))


class LoweredCalls:
    """The products of one convolution, added to ``calls``."""

    def __init__(self, calls: Calls, x: Array, w: Array, y: Array, window: Window) -> None:
        self.calls = calls
        self.taps = window_taps(x.shape[2:], y.shape[2:], window)
        self.is_last = _is_channels_last(w)
        kernel = prod(window.kernel)
        inner = (kernel, x.shape[1]) if self.is_last else (x.shape[1], kernel)
        self.shape = (len(y), *y.shape[2:], *inner)
        self.places = len(y) * prod(y.shape[2:])
        self.depth = prod(w.shape[1:])
        self.filters = len(w)
        self.columns = calls.temporary(MemoryDesc.strided((self.places, self.depth), (self.depth, 1), x.dtype.name))
        self.x = np.moveaxis(x, 1, -1)

    def forward(self, w: Array, b: Array | None, y: Array, activation: Kind | None) -> None:
        """Append y = activation(columns wᵀ + b)."""
        self.calls.then(self._gather)
        bias = None if b is None else DnnlMemory(MemoryDesc.strided((1, self.filters), (self.filters, 1)), b)
        shape = ProductShape(self.places, self.depth, self.filters)
        parts = self.columns, self._weights(w), bias, self._outputs(y)
        wide = all(each.dtype == np.float32 for each in (self.x, w, y))
        if wide and try_turned_product(self.calls, shape, *parts, activation):
            return
        post = append_activation(Attributes(), activation)
        self._product(self.columns, self._factor(w, turned=True), self._outputs(y), bias, post)

    def data(self, w: Array, dy: Array) -> None:
        """Append dx, the ``x`` of this object, = the columns dy w, added up in float32 where they overlap."""
        self.columns = self.calls.temporary(MemoryDesc.strided((self.places, self.depth), (self.depth, 1)))
        self._product(self._outputs(dy), self._factor(w), self.columns)
        if not is_bfloat16(self.x):
            return self.calls.then(lambda: self._scatter(self.x))
        total = self.calls.temporary(MemoryDesc.strided(self.x.shape, dense_strides(self.x.shape)))
        self.calls.then(lambda: self._scatter(total.array.view("float32").reshape(self.x.shape)))
        self.calls.reorder(total, DnnlMemory.of(self.x))

    def weights(self, dy: Array, dw: Array, db: Array | None) -> None:
        """Append dw = dyᵀ columns and db = the sum of dy over all axes except the channels."""
        self.calls.then(self._gather)
        self._product(self._outputs(dy, turned=True), self.columns, self._weights(dw))
        if db is not None and is_bfloat16(dy):
            add_channel_sums(self.calls, self._outputs(dy), dy.shape, db, dy.dtype.name)
        elif db is not None:
            self.calls.then(self._sum(dy, db))

    def _product(
        self,
        a: DnnlMemory,
        b: DnnlMemory,
        y: DnnlMemory,
        bias: DnnlMemory | None = None,
        attributes: Attributes | None = None,
    ) -> None:
        described = a.desc, b.desc, None if bias is None else bias.desc, y.desc
        args: Args = {Arg.SRC: a, Arg.WEIGHTS: b, Arg.BIAS: bias, Arg.DST: y}
        self.calls.add(PrimitiveDesc("matmul", *described, attributes=attributes), args)

    def _factor(self, w: Array, turned: bool = False) -> DnnlMemory:
        """The weights in the type of ``x``: both factors of a product have one type."""
        narrow = _row_major_desc(self.filters, self.depth, turned, self.x.dtype.name)
        return self.calls.ordered(self._weights(w, turned), narrow)

    def _weights(self, w: Array, turned: bool = False) -> DnnlMemory:
        return _row_major_matrix(w, self.filters, self.depth, turned)

    def _outputs(self, y: Array, turned: bool = False) -> DnnlMemory:
        return _row_major_matrix(y, self.places, self.filters, turned)

    def _pairs(self, x: Array, dtype: Any) -> list[tuple[Any, Any]]:
        """For each element of the kernel: its view of the columns, and the view of x that it reads."""
        # Made in every run, as the workspace that holds the columns may be another array then.
        columns = self.columns.array.view(dtype).reshape(self.shape)
        if self.is_last:
            columns = columns.swapaxes(-1, -2)
        return [(columns[:, *tap.outputs[1:], :, tap.index], x[:, *tap.inputs[1:], :]) for tap in self.taps]

    def _gather(self) -> None:
        self.columns.array.fill(0)  # elements that read padding are in no pair
        for columns, x in self._pairs(self.x, self.x.dtype):
            np.copyto(columns, x)

    def _scatter(self, total: Array) -> None:
        """Write the columns to float32 ``total``, which has the shape of ``x``."""
        total.fill(0)
        for columns, x in self._pairs(total, "float32"):
            np.add(x, columns, out=x)

    def _sum(self, dy: Array, db: Array) -> Callable[[], None]:
        others = (0, *range(2, dy.ndim))

        def run() -> None:
            np.sum(dy, axis=others, out=db)

        return run


def _row_major_matrix(array: Array, rows: int, columns: int, turned: bool) -> DnnlMemory:
    """``array``, in row-major order, as a matrix (rows, columns), or as its transpose if ``turned``."""
    return DnnlMemory(_row_major_desc(rows, columns, turned, array.dtype.name), array)


def _row_major_desc(rows: int, columns: int, turned: bool, dtype: str) -> MemoryDesc:
    shape, strides = ((columns, rows), (1, columns)) if turned else ((rows, columns), (columns, 1))
    return MemoryDesc.strided(shape, strides, dtype)
