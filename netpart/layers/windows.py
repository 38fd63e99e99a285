"""Sliding windows on regions: the inputs that convolution and pooling read for a part of their output.

Example on one axis, with stride 2, kernel 3, pad 1 and 6 inputs: the part that computes outputs 1 and 2:

    padded   .  0  1  2  3  4  5  .
    output 0 [-----]
    output 1       [-----]              reads inputs 1..5; the part with the last output also
    output 2             [-----]        takes the tail that no window reaches, so parts tile the input
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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
    pad_end: Shape = ()
    ceil_mode: bool = False

    @property
    def ends(self) -> Shape:
        """Padding after the last input per axis: ``pad_end``, or if that is empty as much as before the first."""
        return self.pad_end or self.pad

    @property
    def reach(self) -> Shape:
        """Extent of a window with dilation, from its first to its last input, per axis."""
        return tuple((k - 1) * d + 1 for k, d in zip(self.kernel, self.dilation, strict=True))

    @property
    def outputs(self) -> Shape:
        """Number of window positions per axis: floor((n + pad + end - reach) / stride) + 1, or more in ceil mode."""
        return tuple(self._count(axis) for axis in range(len(self.extent)))

    def reads(self, outputs: Region) -> Region:
        """Input ranges under the windows of ``outputs``; a range is empty if the windows lie in padding only."""
        return tuple(self._axis(i, *span)[0] for i, span in enumerate(outputs))

    def window(self, outputs: Region) -> Window:
        """Geometry of a part: its pads extend the inputs of ``reads`` to the extent that its windows cover."""
        pads = tuple(self._axis(i, *span)[1] for i, span in enumerate(outputs))
        return Window(self.kernel, self.stride, pads, self.dilation)

    def _count(self, axis: int) -> int:
        """Number of window positions on one axis."""
        inner = self.extent[axis] + self.pad[axis]
        whole, rest = divmod(inner + self.ends[axis] - self.reach[axis], self.stride[axis])
        # As in PyTorch, the window that ceil mode adds starts inside of the input or the padding before it.
        extra = self.ceil_mode and rest > 0 and (whole + 1) * self.stride[axis] < inner
        return whole + 1 + int(extra)

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
    """Read the windows of the conf ``field``: spatial_axes, kernel, stride, pads and the rest; raise ConfigError.

    ``kernel`` sets all axes; ``kernel_x`` (the last axis), ``kernel_y`` and ``kernel_z`` override one axis each. The
    other fields work the same way. Where no pad_end is set for an axis, it is the pad of the axis.
    """
    conf = getattr(layer.conf, field)
    axes: int = conf.spatial_axes
    if not 1 <= axes <= 3:
        raise fault(layer, "1, 2 or 3 spatial axes", str(axes), "correct spatial_axes", field, "spatial_axes")
    if spec.rank not in (axes + 1, axes + 2):
        expected = f"a source of {axes + 2} axes (batch, channels, {axes} spatial), or {axes + 1} for one channel"
        raise fault(layer, expected, str(spec.shape), "set spatial_axes or change the source", field)

    def each(low: int, *names: str) -> Shape:
        used = [_set_field(conf, names, axis) for axis in "zyx"[-axes:]]
        return tuple(at_least(layer, low, int(getattr(conf, f)), field, f) for f in used)

    dilation = each(1, "dilation") if hasattr(conf, "dilation") else (1,) * axes
    pads = {"pad": each(0, "pad"), "pad_end": each(0, "pad_end", "pad")}
    ceil_mode = getattr(conf, "ceil_mode", False)
    return SlidingWindows(
        spec.shape[-axes:], each(1, "kernel"), each(1, "stride"), dilation=dilation, ceil_mode=ceil_mode, **pads
    )


def _set_field(conf: Any, names: tuple[str, ...], axis: str) -> str:
    """The field that holds on ``axis``: the first that is set, each name with the axis before the name alone."""
    fields = [field for name in names for field in (f"{name}_{axis}", name)]
    return next((field for field in fields if conf.HasField(field)), names[-1])


def read_fitting_windows(layer: Layer, field: str, spec: Spec) -> SlidingWindows:
    """Read as ``read_windows``; also raise ConfigError for a window that does not fit into the padded input."""
    found = read_windows(layer, field, spec)
    for n, k, p, e, count in zip(found.extent, found.reach, found.pad, found.ends, found.outputs, strict=True):
        if count < 1:
            got = f"{k} over {n} + 2 * {p}" if p == e else f"{k} over {p} + {n} + {e}"
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
