"""How many additions stand behind a tensor: the n of the bound n·eps for sums in another order.

A sum of n floating-point numbers in any order is off by at most (n - 1)·eps/2 of the sum of their magnitudes (Higham,
Accuracy and Stability of Numerical Algorithms, 2002, section 4.2), two sums in two orders by (n - 1)·eps, and a right
cut changes nothing but orders. How many numbers stand behind one element is what a layer's ``needs`` says of a region
of one element. These counts add up along the longest path from the input to the loss and back:

    n(y)  = terms of y  + max n(x) + n(w)            terms of y: the inputs of one element, and the rounding
    n(dx) = terms of dx + n(dy) + max n(x, y) + n(w) terms of dx: the outputs that one element of x enters
    n(dw) = terms of dw + n(dy) + max n(x)           terms of dw: the outputs that one element of w enters
    n(w)  = n(w) + (n(dw) + 1) ||step|| / ||w||      after an update: a step brings its error as far as it reaches

What is added, a bias or the gradient of a further reader, counts if its n is the largest, and 1 for the addition. A
layer that is in one piece, or whole on every worker that has it, has no terms: it rounds as the uncut one does. So n
is 0 for all that no sum in another order precedes, and its bits must be equal.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil

from netpart.graph.net import Net, Node
from netpart.graph.partition import MicroBatch, Partition
from netpart.layers.part import Needs
from netpart.spec import Region, Shape, size, whole_region


class TermCounts:
    """n of all that ``cut`` computes, by the names of the uncut net; every count starts at 0."""

    def __init__(self, cut: Partition) -> None:
        self.pieces = {phase: _layers_in_pieces(micros) for phase, micros in cut.phases.items()}
        self.parameters = dict.fromkeys((p.name for p in cut.parameters), 0)
        self.outputs: dict[str, int] = {}
        self.gradients: dict[str, int] = {}
        self.parameter_gradients: dict[str, int] = {}

    def forward(self, net: Net) -> None:
        """Counts what stands behind every layer's output."""
        for node in net.nodes:
            own = _element_terms(node) if node.name in self.pieces[net.phase] else 0
            self.outputs[node.name] = own + max([self.read(net, node) + self.weight(node), *self.added(node)])

    def backward(self, net: Net) -> None:
        """Counts what stands behind every gradient, after ``forward``."""
        arriving: dict[str, list[int]] = {node.name: [] for node in net.nodes}
        training: dict[str, list[int]] = {name: [] for name in self.parameters}
        for node in reversed(net.nodes):
            n = self.gradients[node.name] = sum_terms(arriving[node.name])
            is_cut = node.name in self.pieces[net.phase]
            needs = _element_needs(node)
            read = self.read(net, node)
            for parameter, box in zip(node.params, needs.params, strict=True):
                own = _operand_terms(node, box, parameter.spec.shape) if is_cut else 0
                training[parameter.name].append(own + n + read)
            for k, (source, box) in enumerate(zip(node.sources, needs.inputs, strict=True)):
                if net.carries_gradient(node, k):
                    own = _operand_terms(node, box, net.spec(source).shape) if is_cut else 0
                    behind = max(read, self.outputs[node.name])
                    arriving[net.nodes[source.node].name].append(own + n + behind + self.weight(node))
        self.parameter_gradients = {name: sum_terms(counts) for name, counts in training.items()}

    def update(self, steps: Mapping[str, float]) -> None:
        """Counts what one step adds to every parameter, after ``backward``: ``steps`` are their ||step|| / ||w||."""
        for name, n in self.parameter_gradients.items():
            self.parameters[name] += max(1, ceil((n + 1) * steps[name])) if n else 0

    def read(self, net: Net, node: Node) -> int:
        """The largest n of what a layer reads."""
        return max((self.outputs[net.nodes[s.node].name] for s in node.sources), default=0)

    def weight(self, node: Node) -> int:
        """n of the parameter that a layer multiplies by."""
        return self.parameters[node.params[0].name] if node.params else 0

    def added(self, node: Node) -> list[int]:
        """n of the parameters that a layer adds."""
        return [self.parameters[p.name] + 1 for p in node.params[1:] if self.parameters[p.name]]


def _layers_in_pieces(micros: list[MicroBatch]) -> set[str]:
    """The layers that are computed in other shapes than the uncut ones."""
    graph = micros[0].graph
    return {n.name for n in graph.net.nodes if len(micros) > 1 or len(graph.placements[n.index].classes) > 1}


def _element_needs(node: Node) -> Needs:
    """What one element in the middle of a layer's output needs."""
    return node.layer.needs(tuple((n // 2, n // 2 + 1) for n in node.layer.output.shape))


def _element_terms(node: Node) -> int:
    """The numbers that one element is computed from, and one rounding; 0 for a layer that reads nothing."""
    boxes = [box for box in _element_needs(node).inputs if box is not None]
    return sum(map(size, boxes)) + 1 if boxes else 0


def _operand_terms(node: Node, box: Region | None, shape: Shape) -> int:
    """The outputs that one element of an operand of ``shape`` enters, where one output needs ``box`` of it."""
    pairs = size(node.layer.output.whole) * (0 if box is None else size(box))
    return 1 + -(-pairs // size(whole_region(shape)))


def sum_terms(counts: list[int]) -> int:
    """n of a sum whose addends have these."""
    return max(counts, default=0) + max(len(counts) - 1, 0)
