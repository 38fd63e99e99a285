"""A convolution in strips along its first spatial axis, for gradients of weights that many places add up to."""

from __future__ import annotations

from math import prod

from netpart.kernels.op import Array, Window

LEAST = 16
"""Channels from which on oneDNN adds up a line at a time; of fewer it adds up one place after another."""
MOST = 8192
"""Places that it may then add up in one go, if a line has no more."""

Strip = tuple[Array, Array, Window]


def pays(x: Array, y: Array, groups: int) -> bool:
    """True if the gradient of the weights loses digits in one go."""
    return groups == 1 and x.shape[1] < LEAST and len(y) * prod(y.shape[2:]) > MOST


def strips(x: Array, y: Array, window: Window) -> list[Strip]:
    """What is read, what is made of it and how, image by image and strip by strip, as views."""
    lines = max(1, MOST // prod(y.shape[3:]))
    spans = [(first, min(first + lines, y.shape[2])) for first in range(0, y.shape[2], lines)]
    return [_strip(x[i : i + 1], y[i : i + 1], window, *span) for i in range(len(x)) for span in spans]


def _strip(x: Array, y: Array, window: Window, first: int, stop: int) -> Strip:
    """The lines from ``first`` up to ``stop`` of y, and all that their windows see; padding is where x ends."""
    reach = (window.kernel[0] - 1) * (window.dilation[0] if window.dilation else 1) + 1
    low = first * window.stride[0] - window.pads[0][0]
    high = (stop - 1) * window.stride[0] - window.pads[0][0] + reach
    pads = (max(0, -low), max(0, high - x.shape[2])), *window.pads[1:]
    seen = x[:, :, max(0, low) : min(high, x.shape[2])]
    return seen, y[:, :, first:stop], Window(window.kernel, window.stride, pads, window.dilation)
