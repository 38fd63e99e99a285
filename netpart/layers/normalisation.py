"""Base class of layer, group and RMS normalisation: blocks of neighbouring elements, then a scale and a shift."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from netpart.kernels.arguments import NormaliseArguments, NormaliseGradientArguments
from netpart.kernels.op import Array, Op
from netpart.layers.checks import fault
from netpart.layers.layer import Layer, ParamSpec
from netpart.layers.part import Call, Cost, Needs
from netpart.layers.weights import added_gradient, wanted_gradient
from netpart.spec import FLOAT, TENSOR, Region, Shape, extent, relative_slices, size

if TYPE_CHECKING:
    from netpart.kernels.reference import Kernels


class Normalisation(Layer):
    """Normalisation of blocks. A part reads all of each block it touches, so it needs no statistics of other workers.

    A subclass defines the blocks, and the axes of scale and shift (``axes``).
    """

    narrow_verbs: ClassVar[tuple[str, ...]] = ("normalise",)
    rereads = ""
    splits_backward: ClassVar[bool] = True
    axes: range
    centred: bool = True

    @abstractmethod
    def touched(self, region: Region) -> Region:
        """The smallest region of whole blocks that contains ``region``."""

    @abstractmethod
    def blocks(self, region: Region) -> int:
        """The number of blocks in a region of whole blocks."""

    def parameters(self) -> tuple[ParamSpec, ...]:
        """The scale and the shift: the first and the second param block. Both are optional; without a mean there is no
        shift."""
        protos = list(self.conf.param)
        most = 1 + self.centred
        if len(protos) > most:
            expected = f"at most {most} param blocks ({'scale, shift' if self.centred else 'scale'})"
            raise fault(self, expected, str(len(protos)), "remove the last", "param")
        shape = tuple(self.output.shape[a] for a in self.axes)
        return tuple(ParamSpec(key, shape, p, None, shape) for key, p in zip(("weight", "bias"), protos, strict=False))

    def needs(self, region: Region, term: Region | None = None) -> Needs:
        box = tuple(region[a] for a in self.axes)
        return Needs((self.touched(region),), (box,) * len(self.params))

    def cost(self, region: Region, term: Region | None = None) -> Cost:
        seen = size(self.touched(region))
        return Cost(seen, (seen,), size(region) * len(self.params))

    def aux(self, kernels: type[Kernels], region: Region) -> tuple[tuple[Shape, Any], ...]:
        # Over all touched blocks, not the part's own elements: dx of an element depends on its whole block.
        seen = self.touched(region)
        return (extent(seen), TENSOR), ((self.blocks(seen), 1), FLOAT)

    def forward(self, kernels: Kernels, call: Call) -> Op:
        (w, b) = self._views(call.w)
        (unit, rstd) = call.aux
        return kernels.normalise(
            NormaliseArguments(
                x=call.x[0], w=w, b=b, y=call.y[0], unit=unit, rstd=rstd,
                blocks=self.blocks(self.touched(call.region)), own=self._own(call),
                epsilon=self.conf.norm_conf.epsilon, centred=self.centred,
            )
        )  # fmt: skip

    def backward(self, kernels: Kernels, call: Call) -> Op:
        (unit, rstd) = call.aux
        (w, _) = self._views(call.w)
        (dw, db) = self._views(call.dw)
        return kernels.normalise_backward(
            NormaliseGradientArguments(
                unit=unit, rstd=rstd, w=w, dy=call.dy[0], dx=wanted_gradient(call.dx, 0), dw=dw, db=db,
                own=self._own(call), centred=self.centred, add=added_gradient(call),
            )
        )  # fmt: skip

    def _own(self, call: Call) -> tuple[slice, ...]:
        """The slices of the touched blocks that are the part's region."""
        return relative_slices(call.region, self.touched(call.region))

    def _views(self, arrays: list[Array]) -> tuple[Array | None, Array | None]:
        """Scale and shift, or their gradients, as views with the rank of the output; None for what the layer does not
        have."""
        first = self.axes.start
        last = self.output.rank - self.axes.stop
        views = (None if a is None else a.reshape((1,) * first + a.shape + (1,) * last) for a in arrays)
        scale, shift, *_ = (*views, None, None)
        return scale, shift
