"""TermCounts: the number n of additions that lead to a tensor, for the bound n·eps of sums in another order.

A sum of n floating-point numbers in any order has an error of at most (n - 1)·eps/2 of the sum of their magnitudes
(Higham, Accuracy and Stability of Numerical Algorithms, 2002, section 4.2). Two sums in different orders differ by at
most (n - 1)·eps. A correct cut changes nothing but the order of sums. The numbers that one element is computed from
are the ``needs`` of a region of one element. These counts add up along the longest path from the input to the loss and
back:

    n(y)  = terms of y  + max n(x) + n(w)            terms of y: the inputs of one element, and the rounding
    n(dx) = terms of dx + n(dy) + max n(x, y) + n(w) terms of dx: the outputs that one element of x enters
    n(dw) = terms of dw + n(dy) + max n(x)           terms of dw: the outputs that one element of w enters
    n(w)  = n(w) + (n(dw) + 1) ||step|| / ||w||      after an update: the error of a step counts by its relative size

An addend, such as a bias or the gradient of a second reader, counts if its n is the largest; the addition counts 1. A
layer in one piece, or whole on every worker that has it, has no terms: it rounds like the uncut layer. So n is 0 for a
tensor that no reordered sum precedes, and its bits must be equal.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, isfinite

from netpart.graph.net import Net, Node
from netpart.graph.partition import MicroBatch, Partition
from netpart.layers.part import Needs
from netpart.spec import Region, Shape, size, whole_region


class TermCounts:
    """n of every tensor that ``cut`` computes, by the names of the uncut net; every count starts at 0."""

    def __init__(self, cut: Partition) -> None:
        self.pieces = {phase: _layers_in_pieces(micros) for phase, micros in cut.phases.items()}
        self.parameters = dict.fromkeys((p.name for p in cut.parameters), 0)
        self.outputs: dict[str, int] = {}
        self.gradients: dict[str, int] = {}
        self.parameter_gradients: dict[str, int] = {}

    def forward(self, net: Net) -> None:
        """Set the count n of every layer's output."""
        for node in net.nodes:
            own = _element_terms(node) if node.name in self.pieces[net.phase] else 0
            self.outputs[node.name] = own + max([self.read(net, node) + self.weight(node), *self.added(node)])

    def backward(self, net: Net) -> None:
        """Set the count n of every gradient; call it after ``forward``."""
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
                    operand = max(read, self.outputs[node.name])
                    arriving[net.nodes[source.node].name].append(own + n + operand + self.weight(node))
        self.parameter_gradients = {name: sum_terms(counts) for name, counts in training.items()}

    def update(self, steps: Mapping[str, float]) -> None:
        """Add n of one step to every parameter; call it after ``backward``. ``steps`` are their ||step|| / ||w||."""
        for name, n in self.parameter_gradients.items():
            # At least 1: the update itself rounds a sum whose addend differs. 0 if the gradient is bitwise equal.
            # A step that is not finite has no count; its parameter is reported for its values.
            moved = steps[name] if isfinite(steps[name]) else 0
            self.parameters[name] += max(1, ceil((n + 1) * moved)) if n else 0

    def read(self, net: Net, node: Node) -> int:
        """The largest count n among the inputs of a layer."""
        return max((self.outputs[net.nodes[s.node].name] for s in node.sources), default=0)

    def weight(self, node: Node) -> int:
        """The count n of the parameter that a layer multiplies its input by; 0 without one."""
        return self.parameters[node.params[0].name] if node.params else 0

    def added(self, node: Node) -> list[int]:
        """The counts n + 1 of the parameters that a layer adds, as far as n is not 0."""
        return [self.parameters[p.name] + 1 for p in node.params[1:] if self.parameters[p.name]]


def _layers_in_pieces(micros: list[MicroBatch]) -> set[str]:
    """The names of the layers whose kernels run on other shapes than in the uncut net: cut, or in micro-batches."""
    graph = micros[0].graph
    return {n.name for n in graph.net.nodes if len(micros) > 1 or len(graph.placements[n.index].classes) > 1}


def _element_needs(node: Node) -> Needs:
    """The needs of one element in the middle of a layer's output, where no border makes them smaller."""
    return node.layer.needs(tuple((n // 2, n // 2 + 1) for n in node.layer.output.shape))


def _element_terms(node: Node) -> int:
    """The count of the numbers that one element is computed from, plus one rounding; 0 for a layer without inputs."""
    boxes = [box for box in _element_needs(node).inputs if box is not None]
    return sum(map(size, boxes)) + 1 if boxes else 0


def _operand_terms(node: Node, box: Region | None, shape: Shape) -> int:
    """The number of outputs that one element of an operand enters, plus 1, on average over its ``shape``.

    ``box`` is the region of the operand that one output needs.
    """
    pairs = size(node.layer.output.whole) * (0 if box is None else size(box))
    return 1 + -(-pairs // size(whole_region(shape)))


def sum_terms(counts: list[int]) -> int:
    """n of a sum whose addends have the n of ``counts``."""
    return max(counts, default=0) + max(len(counts) - 1, 0)
