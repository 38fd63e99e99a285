"""Input lattice: where the elements of a layer lie in the input of its net, derived from the windows of the layers
between.

A convolution or pooling with stride 2, kernel 3 and pad 1 has its first element over the first input element, and its
last element one or two before the end. If the elements of three such layers in a row were taken as blocks of 8 that
fill the input side by side, they would be misplaced by 3.5 elements:

    input      0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15
    windows    0           .           1           .            element i lies at 8 i
    blocks     [----------0----------] [----------1----------]  element i lies at 8 i + 3.5
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netpart.data.resize import multiply_axes, sampling_matrix
from netpart.graph.net import Node
from netpart.layers.convolution import Convolution
from netpart.layers.layer import Layer
from netpart.layers.pooling import Pooling
from netpart.spec import Shape
from netpart.trained.session import Values


class LatticeAxis(NamedTuple):
    """Element i of an axis lies at ``start`` + ``step`` · i, in elements of a reference layer."""

    start: float
    step: float

    def through(self, window: LatticeAxis) -> LatticeAxis:
        """The composed axis: ``window`` gives positions in this axis, and the result gives them in this axis'
        reference."""
        return LatticeAxis(self.start + self.step * window.start, self.step * window.step)

    def places(self, extent: int) -> NDArray[np.floating[Any]]:
        """The positions of the ``extent`` elements of the reference layer, in elements of this axis."""
        return (np.arange(extent) - self.start) / self.step


Lattice = tuple[LatticeAxis, ...]
"""One LatticeAxis for each axis of space."""


def layer_lattice(nodes: Mapping[str, Node], samples: str, name: str) -> Lattice:
    """Where the elements of layer ``name`` (batch, channels, *space) lie in the elements of the layer ``samples``.

    ``nodes``: all layers of the net in topological order. If no path to the layer keeps space, for example after a
    reshape, its elements are taken as blocks that fill the samples.
    """
    axes = len(nodes[name].layer.output.shape) - 2
    rank = axes + 2
    by_index = {node.index: node for node in nodes.values()}
    found: dict[int, Lattice] = {nodes[samples].index: (LatticeAxis(0.0, 1.0),) * axes}
    for node in nodes.values():
        # Any source with a known lattice will do: inputs that a layer adds up or concatenates over channels lie at the
        # same positions.
        source = next((s.node for s in node.sources if s.node in found), None)
        if source is not None and node.layer.output.rank == rank:
            found[node.index] = _lattice_through_layer(
                found[source], node.layer, by_index[source].layer.output.shape[-axes:]
            )
    blocks = block_lattice(nodes[samples].layer.output.shape[-axes:], nodes[name].layer.output.shape[-axes:])
    return found.get(nodes[name].index, blocks)


def _lattice_through_layer(source: Lattice, layer: Layer, extents: Shape) -> Lattice:
    """The lattice of ``layer``, whose first input has the lattice ``source``."""
    seen = (
        _window_lattice(layer)
        if isinstance(layer, Convolution | Pooling)
        else block_lattice(extents, layer.output.shape[2:])
    )
    return tuple(axis.through(window) for axis, window in zip(source, seen, strict=True))


def _window_lattice(layer: Convolution | Pooling) -> Lattice:
    """The centres of sliding windows."""
    fields = zip(layer.sliding.reach, layer.sliding.pad, layer.sliding.stride, strict=True)
    return tuple(LatticeAxis((reach - 1) / 2 - pad, stride) for reach, pad, stride in fields)


def block_lattice(source: Shape, target: Shape) -> Lattice:
    """The centres of ``target`` blocks that fill ``source`` elements side by side."""
    return tuple(LatticeAxis((n / m - 1) / 2, n / m) for n, m in zip(source, target, strict=True))


def interpolate_map(values: Values, at: Lattice, extents: Shape) -> Values:
    """Interpolate ``values`` (*space), which lie at ``at``, linearly on the ``extents`` elements of the reference
    layer."""
    axes = zip(values.shape, at, extents, strict=True)
    return multiply_axes(values, [sampling_matrix(n, axis.places(extent)) for n, axis, extent in axes])
