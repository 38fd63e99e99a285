"""Convolution over 1 to 3 spatial axes as im2col and one large matrix product per chunk of images and group."""

from __future__ import annotations

from math import prod
from typing import Any

from netpart.kernels.activation import Activation, Kind
from netpart.kernels.columns import Im2colGeometry, OutputRows
from netpart.kernels.op import Array, Op, Window, chain_ops
from netpart.kernels.verbs import NOTHING, as_column, as_matrix


class Convolution(Activation):
    """x (B, C, *in), w (F, C / groups, *k), b (F,), y (B, F, *out); a window may contain only padding.

    x, y and their gradients may be views of some of the channels of a contiguous array, and w may lie in any order.
    With several ``groups``, equal shares of the filters see equal shares of the channels, in order. Columns and outputs
    have the channels outermost, so that a group is a block of their rows.
    """

    def convolution(
        self, x: Array, w: Array, b: Array | None, y: Array, window: Window, groups: int = 1,
        activation: Kind | None = None,
    ) -> Op:  # fmt: skip
        """y = activation(w * x + b) (cross-correlation); low and high padding may differ.

        The activation is one that may overwrite its input, or None.
        """
        if not y.size:
            return NOTHING
        product = self._product(x, w, b, y, window, groups)
        return product if activation is None else chain_ops(product, self.activation(activation, y, y))

    def _product(self, x: Array, w: Array, b: Array | None, y: Array, window: Window, groups: int) -> Op:
        xp = self.xp
        columns = self._columns(x, y, window)
        bias = None if b is None else as_column(b, y.ndim - 1)

        def run(padded_flat: Array, columns_flat: Array, outputs_flat: Array, *plain: Array) -> None:
            weights = self._weight_blocks(w, groups, *plain)
            for images in columns.images:
                padded = columns.pad(x, padded_flat, images)
                for rows in columns.rows:
                    product = columns.matrix(outputs_flat, len(w), rows, images)
                    gathered = _split_groups(columns.gather(padded, columns_flat, rows), groups)
                    xp.matmul(weights, gathered, out=_split_groups(product, groups))
                    target = columns.outputs(y, rows, images)
                    product = product.reshape(target.shape)
                    if bias is None:
                        xp.copyto(target, product)
                    else:
                        xp.add(product, bias, out=target)

        return Op(run, [*columns.scratch(self.dtype), *_plain_scratch(w)])

    def convolution_data(self, dy: Array, w: Array, dx: Array, window: Window, groups: int = 1) -> Op:
        """Overwrite dx with the gradient of x; input that no window reads gets 0."""
        if not dx.size or not dy.size:
            return Op(lambda: dx.fill(0))
        xp = self.xp
        columns = self._columns(dx, dy, window)
        depth = columns.channels * prod(columns.kernel)

        def run(padded_flat: Array, columns_flat: Array, outputs_flat: Array, *plain: Array) -> None:
            weights = self._weight_blocks(w, groups, *plain).swapaxes(1, 2)
            for images in columns.images:
                padded = columns.blank(padded_flat, images)
                padded.fill(0)  # scatter adds
                for rows in columns.rows:
                    target = columns.matrix(columns_flat, depth, rows, images)
                    outputs = self._batch_last(columns, dy, outputs_flat, rows, images)
                    xp.matmul(weights, _split_groups(outputs, groups), out=_split_groups(target, groups))
                    columns.scatter(padded, columns_flat, rows)
                columns.crop(padded, dx, images)

        return Op(run, [*columns.scratch(self.dtype), *_plain_scratch(w)])

    def convolution_weights(
        self, x: Array, dy: Array, dw: Array, db: Array | None, window: Window, groups: int = 1
    ) -> Op:
        """Overwrite dw and db with the gradients of the weights and the bias."""
        if not dy.size:
            return self._zeros([dw] if db is None else [dw, db])
        xp = self.xp
        columns = self._columns(x, dy, window)
        total = _split_groups(as_matrix(dw), groups)
        others = (0, *range(2, dy.ndim))

        def run(padded_flat: Array, columns_flat: Array, outputs_flat: Array, part: Array) -> None:
            total.fill(0)
            for images in columns.images:
                padded = columns.pad(x, padded_flat, images)
                for rows in columns.rows:
                    outputs = self._batch_last(columns, dy, outputs_flat, rows, images)
                    gathered = _split_groups(columns.gather(padded, columns_flat, rows), groups)
                    xp.matmul(_split_groups(outputs, groups), gathered.swapaxes(1, 2), out=part)
                    xp.add(total, part, out=total)
            if db is not None:
                xp.sum(dy, axis=others, out=db)

        return Op(run, [*columns.scratch(self.dtype), (total.shape, self.dtype)])

    def _zeros(self, arrays: list[Array]) -> Op:
        def run() -> None:
            for array in arrays:
                array.fill(0)

        return Op(run)

    def _weight_blocks(self, w: Array, groups: int, plain: Array | None = None) -> Array:
        """The weights as a matrix for each group, of a row-major copy in ``plain`` if there is one."""
        if plain is not None:
            self.xp.copyto(plain, w)
        return _split_groups(as_matrix(w if plain is None else plain), groups)

    def _columns(self, x: Array, y: Array, window: Window) -> Im2colGeometry:
        return Im2colGeometry(self.xp, x.shape, y.shape, window, self.dtype.itemsize)

    def _batch_last(self, columns: Im2colGeometry, dy: Array, flat: Array, rows: OutputRows, images: slice) -> Array:
        """Copy a chunk of dy into an (F, positions·b) matrix."""
        chunk = columns.matrix(flat, dy.shape[1], rows, images)
        source = columns.outputs(dy, rows, images)
        self.xp.copyto(chunk.reshape(source.shape), source)
        return chunk


def _plain_scratch(w: Array) -> list[tuple[tuple[int, ...], Any]]:
    """The row-major copy that weights in another order need."""
    return [] if w.flags.c_contiguous else [(w.shape, w.dtype)]


def _split_groups(rows: Array, groups: int) -> Array:
    """A matrix cut into ``groups`` blocks of rows: (groups, rows / groups, columns)."""
    return rows.reshape(groups, len(rows) // groups, rows.shape[1])
