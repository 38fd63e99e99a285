"""SquareCrops: the crop of a square out of each image of a part, as rgbimage_conf has it."""

from __future__ import annotations

import numpy as np

from netpart.data.crop_images import crop_images
from netpart.kernels.op import Array
from netpart.kernels.philox import UniformDraws, stream_key
from netpart.layers.checks import at_least, fault
from netpart.layers.layer import Layer
from netpart.layers.part import Call
from netpart.spec import Region, Shape

TRAIN = 1


def square_side(layer: Layer, sides: Shape) -> int:
    """The side of the squares: rgbimage_conf.cropsize or, without it, that of images of ``sides``.

    Raises ConfigError if no such square fits.
    """
    at = ("rgbimage_conf", "cropsize")
    cropsize = layer.conf.rgbimage_conf.cropsize
    side = at_least(layer, 0, cropsize, *at) or sides[0]
    if side > min(sides) or (not cropsize and sides[0] != sides[1]):
        expected = f"a cropsize within the image of {sides[0]}x{sides[1]}"
        raise fault(layer, expected, str(cropsize), "write a cropsize that fits", *at)
    return side


class SquareCrops:
    """Crops of the rows of one call; ``box`` is the region of (channel, y, x) to cut out of each square.

    In training a square is at a random place, and mirrored with probability 1/2 if rgbimage_conf.mirror is set. In
    other phases it is the top left one, as in SINGA. The random choice depends on (seed, name, step, global row) only.
    """

    def __init__(self, layer: Layer, call: Call, sides: Shape, side: int, box: Region) -> None:
        lo, hi = (call.first_row + end for end in call.region[0])
        self._conf = layer.conf.rgbimage_conf
        self._side = side
        self._box = box
        self._trains = call.phase == TRAIN
        stream = stream_key(call.seed, layer.name, "crop")
        # Three numbers for each row: top, left, mirror.
        self._draw = UniformDraws(np, stream, (lo, hi), ((0, 3),), (3,), call.phase)
        self._uniform = np.zeros((hi - lo, 3))
        self._scratch = [np.empty(*each) for each in self._draw.scratch]
        self._free = np.array([extent - side + 1 for extent in sides])

    def cut(self, step: int, images: Array, out: Array) -> None:
        """Fill ``out`` (rows, *box) with the scaled crops of ``images`` (rows, channels, height, width)."""
        if self._trains:
            self._draw.uniform(self._uniform, step, *self._scratch)
        tops, lefts = (self._uniform[:, :2] * self._free).astype(int).T.tolist()
        mirrors = (self._conf.mirror & (self._uniform[:, 2] >= 0.5)).tolist()
        crop_images(images, tops, lefts, mirrors, self._side, self._conf.scale, out, self._box)
