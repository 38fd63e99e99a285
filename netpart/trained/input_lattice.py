"""Lattice: where the elements of a layer lie in the input of its net, by the windows that they are computed from.

A convolution or pooling of stride 2, kernel 3 and pad 1 has its first element over the first of its input, and its last
one or two before the end; three of them on end put it 3.5 elements from where it lies if its elements are taken to be
blocks of 8 that fill the input side by side:

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
    """Element i of an axis lies at ``start`` + ``step`` · i, counted in elements of what it is seen from."""

    start: float
    step: float

    def through(self, window: LatticeAxis) -> LatticeAxis:
        """Where what lies at ``window`` of these elements lies."""
        return LatticeAxis(self.start + self.step * window.start, self.step * window.step)

    def places(self, extent: int) -> NDArray[np.floating[Any]]:
        """Where each of ``extent`` elements that it is seen from lies, counted in elements of this axis."""
        return (np.arange(extent) - self.start) / self.step


Lattice = tuple[LatticeAxis, ...]
"""One Axis for each axis of space."""


def layer_lattice(nodes: Mapping[str, Node], samples: str, name: str) -> Lattice:
    """Where the elements of layer ``name`` (batch, channels, *space) lie in those of the layer ``samples``.

    ``nodes``: all layers of the net in topological order. What reaches the layer by no way that keeps space, as behind
    a reshape, is taken to fill the samples.
    """
    axes = len(nodes[name].layer.output.shape) - 2
    rank = axes + 2
    by_index = {node.index: node for node in nodes.values()}
    found: dict[int, Lattice] = {nodes[samples].index: (LatticeAxis(0.0, 1.0),) * axes}
    for node in nodes.values():
        source = next((s.node for s in node.sources if s.node in found), None)
        if source is not None and node.layer.output.rank == rank:
            found[node.index] = _lattice_through_layer(
                found[source], node.layer, by_index[source].layer.output.shape[-axes:]
            )
    blocks = block_lattice(nodes[samples].layer.output.shape[-axes:], nodes[name].layer.output.shape[-axes:])
    return found.get(nodes[name].index, blocks)


def _lattice_through_layer(source: Lattice, layer: Layer, extents: Shape) -> Lattice:
    """Where the elements of ``layer`` lie, of which the first input lies at ``source``."""
    seen = (
        _window_lattice(layer)
        if isinstance(layer, Convolution | Pooling)
        else block_lattice(extents, layer.output.shape[2:])
    )
    return tuple(axis.through(window) for axis, window in zip(source, seen, strict=True))


def _window_lattice(layer: Convolution | Pooling) -> Lattice:
    """The middles of sliding windows."""
    fields = zip(layer.sliding.reach, layer.sliding.pad, layer.sliding.stride, strict=True)
    return tuple(LatticeAxis((reach - 1) / 2 - pad, stride) for reach, pad, stride in fields)


def block_lattice(source: Shape, target: Shape) -> Lattice:
    """The middles of ``target`` blocks that fill ``source`` elements side by side."""
    return tuple(LatticeAxis((n / m - 1) / 2, n / m) for n, m in zip(source, target, strict=True))


def interpolate_map(values: Values, at: Lattice, extents: Shape) -> Values:
    """``values`` (*space) that lie at ``at``, linear between them, on the ``extents`` elements they are seen from."""
    axes = zip(values.shape, at, extents, strict=True)
    return multiply_axes(values, [sampling_matrix(n, axis.places(extent)) for n, axis, extent in axes])
