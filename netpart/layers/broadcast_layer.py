"""Base class of layers that combine sources element by element; axes of extent 1 are stretched to match."""

from __future__ import annotations

from typing import ClassVar

from netpart.kernels import flops
from netpart.layers.checks import fault, float_source
from netpart.layers.layer import Layer, MemoryOrder
from netpart.layers.part import Needs
from netpart.spec import Region, Shape, Spec, size


class BroadcastLayer(Layer):
    """Combination of sources of one rank whose extents on each axis are equal or 1, by the broadcasting rule of NumPy.

    Several parts may need the same element of a stretched source. Its gradient is the sum of their gradients.
    """

    memory_order: ClassVar[MemoryOrder] = MemoryOrder.FIRST

    def infer(self) -> tuple[Spec, ...]:
        if not self.inputs:
            raise fault(self, "at least one source", "none", "name them with srclayers", "srclayers")
        specs = [float_source(self, k, least=1) for k in range(len(self.inputs))]
        together = specs[0].shape
        for k, spec in enumerate(specs):
            found = _broadcast_shape(together, spec.shape)
            if found is None:
                expected = f"sources whose extents are equal or 1, such as {together}"
                raise fault(self, expected, str(spec.shape), "make the sources match", "srclayers", k)
            together = found
        return (Spec(together),)

    def needs(self, region: Region, term: Region | None = None) -> Needs:
        return Needs(tuple(self._seen(spec, region) for spec in self.inputs))

    def folds(self, region: Region) -> tuple[int, ...]:
        """FLOPs, per source, of summing its gradient over the axes on which it is stretched."""
        return tuple(flops.fold_flops(size(self._seen(spec, region)), size(region)) for spec in self.inputs)

    @staticmethod
    def _seen(spec: Spec, region: Region) -> Region:
        """The region of a source that ``region`` of the output reads: the only element of each stretched axis."""
        return tuple((0, 1) if n == 1 else span for n, span in zip(spec.shape, region, strict=True))


def _broadcast_shape(a: Shape, b: Shape) -> Shape | None:
    """The broadcast shape of two shapes of the same rank; None if they do not fit."""
    if len(a) != len(b) or any(n != m and 1 not in (n, m) for n, m in zip(a, b, strict=True)):
        return None
    return tuple(max(n, m) for n, m in zip(a, b, strict=True))
