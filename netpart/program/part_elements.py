"""The elements in which the layers of parts compute: the compute dtype, or bfloat16."""

from __future__ import annotations

from netpart.graph.graph import Part
from netpart.graph.net import Net
from netpart.kernels.reference import Kernels
from netpart.spec import BFLOAT16, FLOAT


class PartElements:
    """The elements of the numbers that the layers of ``net`` take and make with ``kernels``."""

    def __init__(self, net: Net, kernels: type[Kernels]) -> None:
        self.net = net
        self.kernels = kernels

    def stored(self, part: Part, output: int = 0) -> str:
        """The kind of element as which an output of ``part`` is stored."""
        return self.net.element(part.node, output)

    def computed(self, part: Part) -> str:
        """The element in which the layer of ``part`` takes and makes numbers: BFLOAT16 if it makes such a tensor, and
        its kernels can."""
        narrow = self.stored(part) == BFLOAT16 and self.net.nodes[part.node].layer.takes_bfloat16(self.kernels)
        return BFLOAT16 if narrow else FLOAT

    def read(self, part: Part, k: int) -> str:
        """The element in which the layer of ``part`` takes numbers of input ``k``, and makes their gradient."""
        return FLOAT if k in self.net.nodes[part.node].layer.exact_inputs else self.computed(part)

    def factors(self, part: Part) -> tuple[str, ...]:
        """The elements to which the factors among the parameters of ``part`` are converted, in turn."""
        rounds = self.stored(part) == BFLOAT16
        return tuple(dict.fromkeys((BFLOAT16, self.computed(part)))) if rounds else (FLOAT,)
