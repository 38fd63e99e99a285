"""Windows of random layers: kernel, stride, pads and dilation, for all axes or one by one, some strange."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from netpart.proto.job_pb2 import LayerProto
from netpart.spec import Shape
from tests.laws.sketch import Sketch

AXES = "zyx"
LARGEST_PAD = 2


def windows(s: Sketch, conf: LayerProto, field: str, shape: Shape) -> int:
    """Fills in the windows of a layer that reads ``shape``; returns the channels that they leave."""
    able = [axes for axes in (1, 2, 3) if len(shape) in (axes + 1, axes + 2)]
    axes = s.option(conf, f"{field}.spatial_axes", able.__contains__)
    extents, found = shape[-axes:], getattr(conf, field)
    dilations = [1] * axes
    if field == "convolution_conf":
        dilations = each(s, conf, field, "dilation", axes)
    kernels = each(s, conf, field, "kernel", axes)
    each(s, conf, field, "stride", axes)
    reach = [(k - 1) * d + 1 for k, d in zip(kernels, dilations, strict=True)]
    least = [max(0, -(-(k - n) // 2)) for k, n in zip(reach, extents, strict=True)]
    pads = each(s, conf, field, "pad", axes, lambda axis, pad: pad >= least[axis])
    free = [n + pad - k for n, pad, k in zip(extents, pads, reach, strict=True)]
    each(s, conf, field, "pad_end", axes, lambda axis, end: free[axis] + end >= 0, pads)
    assert found.spatial_axes == axes
    return shape[1] if len(shape) == axes + 2 else 1


def each(
    s: Sketch, conf: LayerProto, field: str, name: str, axes: int, able: Callable[[int, int], bool] = lambda i, n: True,
    unset: list[int] | None = None,
) -> list[int]:  # fmt: skip
    """Draws an option for every axis that has its own, and for all others; returns what holds on each.

    ``unset``: what holds on each axis if nothing is set; None: the default of the field."""
    default: list[int] = unset or [getattr(type(getattr(conf, field))(), name)] * axes
    common = [v for v in range(LARGEST_PAD + 2) if all(able(axis, v) for axis in range(axes))]
    usable = all(able(axis, value) for axis, value in enumerate(default))
    whole = s.option(conf, f"{field}.{name}", lambda v: v in common or (v is None and usable) or not common)
    rest = default if whole is None else [whole] * axes

    def fits(axis: int, value: int | None) -> bool:
        """True if an axis can have ``value``; None is what all axes have."""
        return able(axis, rest[axis] if value is None else value)

    own = [s.option(conf, f"{field}.{name}_{AXES[i - axes]}", partial(fits, i)) for i in range(axes)]
    return [value if drawn is None else drawn for value, drawn in zip(rest, own, strict=True)]


def effective(field: Any, name: str, axes: int) -> list[int]:
    """What holds on each of the last axes."""
    return [
        getattr(field, f"{name}_{a}") if field.HasField(f"{name}_{a}") else getattr(field, name) for a in AXES[-axes:]
    ]


def ends(field: Any, axes: int) -> list[int]:
    """The padding after the last element of each of the last axes."""
    pads = zip(AXES[-axes:], effective(field, "pad", axes), effective(field, "pad_end", axes), strict=True)
    return [end if field.HasField("pad_end") or field.HasField(f"pad_end_{a}") else pad for a, pad, end in pads]


def any_pad(field: Any) -> bool:
    """True if a window may lie wholly in padding, or twice on the same element."""
    return any(effective(field, "pad", field.spatial_axes)) or any(ends(field, field.spatial_axes))


def overlap(field: Any) -> bool:
    """True if two windows may hold the same element."""
    axes = field.spatial_axes
    return any(s < k for s, k in zip(effective(field, "stride", axes), effective(field, "kernel", axes), strict=True))
