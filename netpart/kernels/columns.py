"""im2col with the batch innermost: long contiguous runs for any size of kernels and images.

    x (B, C, *in) ──pad──▶ padded (C, *in', b) ──gather──▶ columns (C, *k, rows, *out, b)
    dx            ◀─crop──                     ◀─scatter──

b images and ``rows`` positions of the first spatial output axis at a time, so that the columns never
take more than ``LIMIT`` bytes (or one row of one image). Padding becomes zeros in ``padded``; input
rows that no window reads are omitted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import ceil, prod
from typing import Any

from netpart.kernels.op import Array, Window
from netpart.kernels.verbs import scratch_view
from netpart.spec import Shape

LIMIT = 2 << 20
"""Bytes of columns per chunk: the fastest of 0.5 to 8 MiB on LeNet's conv2, because a chunk then stays in L2."""

Box = tuple[slice | int, ...]
ALL = slice(None)


@dataclass(frozen=True)
class OutputRows:
    """A range of positions on the first spatial output axis.

    ``moves`` pairs each kernel offset with the box of ``padded`` that the windows read there.
    """

    lo: int
    hi: int
    moves: tuple[tuple[Box, Box], ...]


class Im2colGeometry:
    """Geometry of one convolution on one part, computed before the first step."""

    def __init__(self, xp: Any, x_shape: Shape, y_shape: Shape, window: Window, itemsize: int) -> None:
        self.xp = xp
        self.kernel = window.kernel
        self.out = y_shape[2:]
        self.batch = x_shape[0]
        self.channels = x_shape[1]
        self.filters = y_shape[1]
        self.dilation = window.dilation or tuple(1 for _ in window.kernel)
        sides = zip(self.out, window.kernel, window.stride, self.dilation, strict=True)
        self.padded = tuple((n - 1) * s + (k - 1) * d + 1 for n, k, s, d in sides)
        low = [min(lo, size) for (lo, _), size in zip(window.pads, self.padded, strict=True)]
        read = [max(0, min(n, size - lo)) for n, size, lo in zip(x_shape[2:], self.padded, low, strict=True)]
        self.read = tuple(slice(0, n) for n in read)
        self.inside = tuple(slice(lo, lo + n) for lo, n in zip(low, read, strict=True))
        self.bordered = tuple(read) != self.padded
        self.unread = tuple(read) != x_shape[2:]
        self._chunk(itemsize, window.stride)

    def _chunk(self, itemsize: int, stride: Shape) -> None:
        depth = self.channels * prod(self.kernel)
        row_bytes = max(1, depth * prod(self.out[1:]) * itemsize)
        images = max(1, min(self.batch, LIMIT // (row_bytes * self.out[0])))
        # Evens out the chunks: as many as before, but no small one at the end.
        images = ceil(self.batch / ceil(self.batch / images))
        rows = self.out[0] if row_bytes * self.out[0] <= LIMIT else max(1, LIMIT // row_bytes)
        self.images = [slice(i, min(i + images, self.batch)) for i in range(0, self.batch, images)]
        self.rows = [self._rows(lo, min(lo + rows, self.out[0]), stride) for lo in range(0, self.out[0], rows)]
        self.positions = rows * prod(self.out[1:]) * images
        self.sizes = (self.channels * prod(self.padded) * images, depth * self.positions, self.filters * self.positions)

    def _rows(self, lo: int, hi: int, stride: Shape) -> OutputRows:
        spans = [(lo, hi), *((0, n) for n in self.out[1:])]

        def box(offset: tuple[int, ...]) -> Box:
            sides = zip(offset, self.dilation, spans, stride, strict=True)
            return (ALL, *(slice(o * d + a * s, o * d + (b - 1) * s + 1, s) for o, d, (a, b), s in sides))

        return OutputRows(lo, hi, tuple(((ALL, *o), box(o)) for o in product(*map(range, self.kernel))))

    def scratch(self, dtype: Any) -> list[tuple[tuple[int, ...], Any]]:
        """The temporaries: padded images, columns, outputs with the batch innermost; each 1-D."""
        return [((size,), dtype) for size in self.sizes]

    def blank(self, flat: Array, images: slice) -> Array:
        """The padded images of a chunk, uninitialised: (C, *padded, b)."""
        return scratch_view(flat, self.channels, *self.padded, images.stop - images.start)

    def pad(self, x: Array, flat: Array, images: slice) -> Array:
        """Copy ``x[images]`` into the padded images and write zeros around it."""
        padded = self.blank(flat, images)
        if self.bordered:
            padded.fill(0)
        self.xp.copyto(padded[(ALL, *self.inside)], _move_batch_last(x[(images, ALL, *self.read)]))
        return padded

    def crop(self, padded: Array, dx: Array, images: slice) -> None:
        """Copy the padded images back to ``dx[images]``; elements that no window reads become 0."""
        if self.unread:
            dx[images].fill(0)
        self.xp.copyto(_move_batch_last(dx[(images, ALL, *self.read)]), padded[(ALL, *self.inside)])

    def gather(self, padded: Array, flat: Array, rows: OutputRows) -> Array:
        """Copy the windows to columns (im2col); return them as (C·prod k, positions·b)."""
        columns = self._columns(flat, rows, padded.shape[-1])
        for offset, box in rows.moves:
            self.xp.copyto(columns[offset], padded[box])
        return columns.reshape(self.channels * prod(self.kernel), prod(columns.shape[1 + len(self.kernel) :]))

    def scatter(self, padded: Array, flat: Array, rows: OutputRows) -> None:
        """Add the columns to the padded images that they came from (col2im)."""
        columns = self._columns(flat, rows, padded.shape[-1])
        # Windows overlap between offsets but not within one, so that each addition writes every element once.
        for offset, box in rows.moves:
            self.xp.add(padded[box], columns[offset], out=padded[box])

    def matrix(self, flat: Array, height: int, rows: OutputRows, images: slice) -> Array:
        """Scratch as a (height, positions·b) matrix."""
        return scratch_view(flat, height, (rows.hi - rows.lo) * prod(self.out[1:]) * (images.stop - images.start))

    def outputs(self, y: Array, rows: OutputRows, images: slice) -> Array:
        """The part of ``y`` that a chunk computes, batch last: (F, rows, *out, b)."""
        return _move_batch_last(y[images, :, rows.lo : rows.hi])

    def _columns(self, flat: Array, rows: OutputRows, images: int) -> Array:
        return scratch_view(flat, self.channels, *self.kernel, rows.hi - rows.lo, *self.out[1:], images)

    def __iter__(self) -> Iterator[tuple[slice, OutputRows]]:
        return ((images, rows) for images in self.images for rows in self.rows)


def _move_batch_last(a: Array) -> Array:
    return a.transpose(*range(1, a.ndim), 0)
