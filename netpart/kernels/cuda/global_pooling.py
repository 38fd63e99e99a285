"""Global pooling: the mean or the maximum over all spatial axes, as sums of columns, image by image."""

from __future__ import annotations

from netpart.kernels import global_pooling as reference
from netpart.kernels.cuda.column_kernels import ColumnTile, ColumnVerbs, with_places
from netpart.kernels.op import Array, Op
from netpart.kernels.pooling import Method

FILE = "global_pooling.cu"


class GlobalPooling(reference.GlobalPooling, ColumnVerbs):
    """The verbs of the reference."""

    def global_pooling(self, x: Array, y: Array, arg: Array | None, method: Method, area: int) -> Op:
        """Overwrite y. AVG: the sum divided by ``area``. MAX: the largest element, whose position goes to ``arg``."""
        tile = _image_tile(x)
        target = with_places(y)
        if method == "AVG":
            return self.sums(FILE, ("sums", with_places(x)), ("mean", (*target, float(area))), 1, tile)
        return self.launches(self.along(FILE, "largest", tile.whole, *with_places(x), tile.whole.value, *target, arg))

    def global_pooling_gradient(self, dy: Array, dx: Array, arg: Array | None, method: Method, area: int) -> Op:
        """Overwrite dx. Raises ValueError for MAX without the ``arg`` of the forward pass."""
        if method == "MAX" and arg is None:
            raise ValueError("global_pooling_gradient: expected the arg array of the forward pass for MAX, got None")
        tile = _image_tile(dx)
        winners = arg if method == "MAX" else None
        return self.launches(
            self.along(FILE, "gradient", tile, *with_places(dy), *with_places(dx), winners, float(area), tile.value)
        )


def _image_tile(x: Array) -> ColumnTile:
    """The tile whose segments are the places of an image."""
    images, channels = x.shape[:2]
    return ColumnTile.of(int(x.size // max(1, images * channels)), channels, images)
