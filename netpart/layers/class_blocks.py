"""ClassBlocks: summary of blocks of classes, for a softmax loss that is cut on its classes.

netpart inserts this layer itself; a job cannot contain it. Each part of the loss needs a few figures of all classes,
such as their maximum and the sum of their exponentials. Sending the figures is cheaper than sending the scores.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, ClassVar, final

from netpart.kernels import flops
from netpart.kernels.block_figures import class_bounds, count_block_figures
from netpart.kernels.op import Op
from netpart.layers.layer import Layer
from netpart.layers.part import Call, Cost, Needs
from netpart.proto.layer_pb2 import LayerType
from netpart.spec import Region, Spec, size

if TYPE_CHECKING:
    from netpart.kernels.reference import Kernels
    from netpart.layers.softmax_loss import SoftmaxLoss

MOST = 64
"""Largest number of blocks. There are fewer if their figures would be more numbers than the classes themselves. The
blocks do not depend on the cut, so the result does not either."""


@final
class ClassBlocks(Layer):
    """Output (batch, ..., blocks, figures): the figures of each block of classes of x (batch, ..., classes).

    The second source holds the labels of x.
    """

    has_gradient: ClassVar[bool] = False

    def __init__(self, loss: SoftmaxLoss, name: str) -> None:
        """``loss`` is the softmax loss to summarise."""
        from netpart.proto.job_pb2 import LayerProto

        self.topk = loss.topk
        self.weights = loss.weights
        conf = LayerProto(name=name, type=LayerType.kUserLayer, user_type="ClassBlocks", srclayers=loss.conf.srclayers)
        super().__init__(conf, loss.inputs[:2], training=loss.training)

    def infer(self) -> tuple[Spec, ...]:
        *places, classes = self.inputs[0].shape
        blocks = max(1, min(MOST, classes // count_block_figures(self.topk)))
        self.bounds = class_bounds(classes, blocks)
        return (Spec((*places, blocks, count_block_figures(self.topk))),)

    def cuts(self) -> tuple[int | str, ...]:
        return tuple(range(self.output.rank - 1))

    def share(self, region: Region) -> tuple[Region, None]:
        """The blocks that begin in a box of the loss, as (region, no term)."""
        *places, (lo, hi) = region
        # A block belongs to the part that holds its first class. So each block is computed once, although the parts
        # of the loss may end inside a block.
        blocks = bisect_left(self.bounds[:-1], lo), bisect_left(self.bounds[:-1], hi)
        return (*places, blocks, (0, self.output.shape[-1])), None

    def needs(self, region: Region, term: Region | None = None) -> Needs:
        *places, (lo, hi), _ = region
        return Needs(((*places, (self.bounds[lo], self.bounds[hi])), tuple(places)))

    def cost(self, region: Region, term: Region | None = None) -> Cost:
        return Cost(flops.elementwise_flops(size(self.needs(region).inputs[0] or ())))

    def forward(self, kernels: Kernels, call: Call) -> Op:
        lo, hi = call.region[-2]
        bounds = self.bounds[lo : hi + 1]
        return kernels.class_blocks(call.x[0], call.x[1], call.y[0], bounds, self.topk, self.weights)
