"""kImagePreprocess: cropping, mirroring and scaling of images."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from netpart.data.crop_images import crop_images
from netpart.kernels.op import Array, Op
from netpart.kernels.philox import UniformDraws, stream_key
from netpart.layers.checks import at_least, fault, one_source
from netpart.layers.layer import Layer
from netpart.layers.part import Call, Needs
from netpart.spec import Region, Spec

if TYPE_CHECKING:
    from netpart.kernels.reference import Kernels

TRAIN = 1


@final
class ImagePreprocess(Layer):
    """Crop of a square out of each image. In training it is at a random place, and mirrored with probability 1/2 if
    rgbimage_conf.mirror is set. In other phases it is the top left square, as in SINGA. The random choice depends on
    (seed, name, step, global row) only. There is no gradient."""

    types: ClassVar[tuple[str, ...]] = ("kImagePreprocess",)
    confs: ClassVar[tuple[str, ...]] = ("rgbimage_conf",)

    def infer(self) -> tuple[Spec, ...]:
        source = one_source(self)
        conf = self.conf.rgbimage_conf
        if source.rank != 4:
            raise fault(self, "a source (batch, channels, height, width)", str(source.shape), "", "srclayers", 0)
        if conf.meanfile:
            hint = "write the mean as store_conf.mean_file of the input layer"
            raise fault(self, "no meanfile", repr(conf.meanfile), hint, "rgbimage_conf", "meanfile")
        sides = source.shape[2:]
        at = ("rgbimage_conf", "cropsize")
        self.side = at_least(self, 0, conf.cropsize, *at) or sides[0]
        if self.side > min(sides) or (not conf.cropsize and sides[0] != sides[1]):
            expected = f"a cropsize within the image of {sides[0]}x{sides[1]}"
            raise fault(self, expected, str(conf.cropsize), "write a cropsize that fits", *at)
        return (Spec((*source.shape[:2], self.side, self.side)),)

    def needs(self, region: Region, term: Region | None = None) -> Needs:
        return Needs(((*region[:2], *self.inputs[0].whole[2:]),))

    def forward(self, kernels: Kernels, call: Call) -> Op:
        (lo, hi), (c0, c1), *sides = call.region
        box = ((0, c1 - c0), *sides)  # the part reads its own channels only, so they count from 0 here
        scale = self.conf.rgbimage_conf.scale
        stream = stream_key(call.seed, self.name, "crop")
        three = ((0, 3),)  # three numbers for each row: top, left, mirror
        draw = UniformDraws(np, stream, (call.first_row + lo, call.first_row + hi), three, (3,), call.phase)
        uniform = np.zeros((hi - lo, 3))
        scratch = [np.empty(*s) for s in draw.scratch]
        free = np.array([extent - self.side + 1 for extent in self.inputs[0].shape[2:]])

        def fill(y: Array, x: Array) -> None:
            if call.phase == TRAIN:
                draw.uniform(uniform, call.clock.step, *scratch)
            tops, lefts = (uniform[:, :2] * free).astype(int).T.tolist()
            mirrors = (self.conf.rgbimage_conf.mirror & (uniform[:, 2] >= 0.5)).tolist()
            crop_images(x, tops, lefts, mirrors, self.side, scale, y, box)

        return kernels.feed(call.y[:1], fill, call.x[:1])
