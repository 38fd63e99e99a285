"""Sliding windows on regions: the inputs that convolution and pooling read for a part of their output.

Example on one axis, with stride 2, kernel 3, pad 1 and 6 inputs: the part that computes outputs 1 and 2:

    padded   .  0  1  2  3  4  5  .
    output 0 [-----]
    output 1       [-----]              reads inputs 1..5; the part with the last output also
    output 2             [-----]        takes the tail that no window reaches, so parts tile the input
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from netpart.kernels.op import Array, Window
from netpart.layers.checks import at_least, fault
from netpart.layers.layer import Layer
from netpart.spec import Region, Shape, Spec

if TYPE_CHECKING:
    from netpart.kernels.reference import Kernels

Range = tuple[int, int]


@dataclass(frozen=True)
class SlidingWindows:
    """Windows over the spatial axes of an uncut tensor; every field has one entry per spatial axis."""

    extent: Shape
    kernel: Shape
    stride: Shape
    pad: Shape
    dilation: Shape

    @property
    def reach(self) -> Shape:
        """Extent of a window with dilation, from its first to its last input, per axis."""
        return tuple((k - 1) * d + 1 for k, d in zip(self.kernel, self.dilation, strict=True))

    @property
    def outputs(self) -> Shape:
        """Number of window positions per axis: floor((n + 2 pad - reach) / stride) + 1."""
        fields = zip(self.extent, self.reach, self.stride, self.pad, strict=True)
        return tuple((n + 2 * p - k) // s + 1 for n, k, s, p in fields)

    def reads(self, outputs: Region) -> Region:
        """Input ranges under the windows of ``outputs``; a range is empty if the windows lie in padding only."""
        return tuple(self._axis(i, *span)[0] for i, span in enumerate(outputs))

    def window(self, outputs: Region) -> Window:
        """Geometry of a part: its pads extend the inputs of ``reads`` to the extent that its windows cover."""
        pads = tuple(self._axis(i, *span)[1] for i, span in enumerate(outputs))
        return Window(self.kernel, self.stride, pads, self.dilation)

    def _axis(self, axis: int, lo: int, hi: int) -> tuple[Range, Range]:
        """(range of inputs, (pad before, pad after)) of the outputs [lo, hi) on one axis."""
        n = self.extent[axis]
        k = self.reach[axis]
        s = self.stride[axis]
        p = self.pad[axis]
        first = lo * s - p
        stop = (hi - 1) * s - p + k
        if hi == self.outputs[axis]:
            stop = max(stop, n)  # the part with the last output gets the tail: the whole output needs the whole input
        start = max(first, 0)
        end = min(stop, n)
        if start >= end:
            return (min(start, n), min(start, n)), (stop - first, 0)
        return (start, end), (start - first, stop - end)


def read_windows(layer: Layer, field: str, spec: Spec) -> SlidingWindows:
    """Read spatial_axes, kernel, stride, pad and, if it exists, dilation of the conf ``field``; raise ConfigError.

    ``kernel`` sets all axes; ``kernel_x`` (the last axis), ``kernel_y`` and ``kernel_z`` override one axis each. The
    other fields work the same way.
    """
    conf = getattr(layer.conf, field)
    axes: int = conf.spatial_axes
    if not 1 <= axes <= 3:
        raise fault(layer, "1, 2 or 3 spatial axes", str(axes), "correct spatial_axes", field, "spatial_axes")
    if spec.rank not in (axes + 1, axes + 2):
        expected = f"a source of {axes + 2} axes (batch, channels, {axes} spatial), or {axes + 1} for one channel"
        raise fault(layer, expected, str(spec.shape), "set spatial_axes or change the source", field)

    def each(name: str, low: int) -> Shape:
        fields = [f"{name}_{axis}" for axis in "zyx"[-axes:]]
        used = [f if conf.HasField(f) else name for f in fields]
        return tuple(at_least(layer, low, int(getattr(conf, f)), field, f) for f in used)

    dilation = each("dilation", 1) if hasattr(conf, "dilation") else (1,) * axes
    return SlidingWindows(spec.shape[-axes:], each("kernel", 1), each("stride", 1), each("pad", 0), dilation)


def read_fitting_windows(layer: Layer, field: str, spec: Spec) -> SlidingWindows:
    """Read as ``read_windows``; also raise ConfigError for a window that does not fit into the padded input."""
    found = read_windows(layer, field, spec)
    for n, k, p in zip(found.extent, found.reach, found.pad, strict=True):
        if k > n + 2 * p:
            got = f"{k} over {n} + 2 * {p}"
            raise fault(layer, "a kernel no larger than the padded input", got, "use a smaller kernel", field, "kernel")
    return found


def channel_count(spec: Spec, sliding: SlidingWindows) -> int:
    """Channels of a tensor (batch, [channels,] spatial...); 1 if it has no channel axis."""
    return spec.shape[1] if spec.rank == len(sliding.extent) + 2 else 1


def convolution_groups(layer: Layer, channels: int, filters: int) -> int:
    """Return the number of groups of a convolution; raise ConfigError unless it divides channels and filters."""
    groups = at_least(layer, 1, layer.conf.convolution_conf.groups, "convolution_conf", "groups")
    if channels % groups or filters % groups:
        got = f"{groups} over {channels} and {filters}"
        hint = "change groups or num_filters"
        raise fault(layer, "groups that divide the channels and the filters", got, hint, "convolution_conf", "groups")
    return groups


def with_channel_axis(x: Array, sliding: SlidingWindows) -> Array:
    """A view of ``x`` (batch, [channels,] spatial...) with a channel axis; None for None."""
    return x if x is None or x.ndim == len(sliding.extent) + 2 else x[:, None]


def empty_input(kernels: Kernels, *shape: int) -> Array:
    """The zero-extent input of a part whose windows all lie in padding."""
    return kernels.xp.empty(shape, kernels.dtype)
