"""kImagePreprocess: cropping, mirroring and scaling of images."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, final

from netpart.kernels.op import Array, Op
from netpart.layers.checks import fault, one_source
from netpart.layers.layer import Layer
from netpart.layers.part import Call, Needs
from netpart.layers.square_crops import SquareCrops, square_side
from netpart.spec import Region, Spec

if TYPE_CHECKING:
    from netpart.kernels.reference import Kernels


@final
class ImagePreprocess(Layer):
    """Crop of a square out of each image. In training it is at a random place, and mirrored with probability 1/2 if
    rgbimage_conf.mirror is set. In other phases it is the top left square, as in SINGA. There is no gradient."""

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
        self.side = square_side(self, source.shape[2:])
        return (Spec((*source.shape[:2], self.side, self.side)),)

    def needs(self, region: Region, term: Region | None = None) -> Needs:
        return Needs(((*region[:2], *self.inputs[0].whole[2:]),))

    def forward(self, kernels: Kernels, call: Call) -> Op:
        _, (c0, c1), *sides = call.region
        box = ((0, c1 - c0), *sides)  # the part reads its own channels only, so they count from 0 here
        crops = SquareCrops(self, call, self.inputs[0].shape[2:], self.side, box)

        def fill(y: Array, x: Array) -> None:
            crops.cut(call.clock.step, x, y)

        return kernels.feed(call.y[:1], fill, call.x[:1])
