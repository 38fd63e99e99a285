"""A convolution in strips, some lines along its first spatial axis or some images, for the gradient of its weights.

What oneDNN reads for it lies far apart, 16 channels here and 16 there, again and again: from a cache that is fast, from
memory up to ten times slower. A strip is small enough to be copied into the cache first, in the order of memory.
"""

from __future__ import annotations

from itertools import pairwise, product
from math import ceil, prod

from netpart.kernels.op import Array, Window

BYTES = 1 << 20
"""What the second cache of a core holds; of 0.5 to 4 MiB the fastest, for 32 to 192 channels of volumes."""
LEAST = 16
"""Channels from which on oneDNN adds up a line at a time; of fewer it adds up one place after another."""
MOST = 8192
"""Places that it may then add up in one go, if a line has no more."""

Strip = tuple[Array, Array, Window]


def cut_strips(x: Array, y: Array, w: Array, window: Window) -> list[Strip]:
    """What is read, what is made of it and how, as views, but for what reads padding alone; only one where that is as
    well."""
    lines = min(_lines_in_cache(x, y, w), MOST // prod(y.shape[3:]) if x.shape[1] < LEAST else len(y) * y.shape[2])
    images = _even_ranges(len(y), lines // y.shape[2])
    spans = _even_ranges(y.shape[2], lines)
    found = [_cut_strip(x[i:j], y[i:j], window, *span) for (i, j), span in product(images, spans)]
    return [strip for strip in found if strip[0].size] or found


def _lines_in_cache(x: Array, y: Array, w: Array) -> int:
    """Lines of y that fit into the cache; twice what w takes, which is added up for each strip, unless w is large."""
    lines = len(y) * int(y.shape[2])
    size = int(x.nbytes + y.nbytes)
    space = max(BYTES, 2 * int(w.nbytes))
    return space * lines // size if space <= 4 * BYTES else lines


def group_strips(found: list[Strip]) -> list[list[Strip]]:
    """The strips, those together that differ only in where they lie."""
    kinds: dict[object, list[Strip]] = {}
    for strip in found:
        seen, made, window = strip
        kinds.setdefault((seen.shape, made.shape, window), []).append(strip)
    return list(kinds.values())


def _even_ranges(extent: int, most: int) -> list[tuple[int, int]]:
    """Ranges of at most ``most``, or of 1, that differ little in length."""
    parts = ceil(extent / max(1, most))
    return list(pairwise(extent * part // parts for part in range(parts + 1)))


def _cut_strip(x: Array, y: Array, window: Window, first: int, stop: int) -> Strip:
    """The lines from ``first`` up to ``stop`` of y, and all that their windows see; padding is where x ends."""
    reach = (window.kernel[0] - 1) * (window.dilation[0] if window.dilation else 1) + 1
    low = first * window.stride[0] - window.pads[0][0]
    high = (stop - 1) * window.stride[0] - window.pads[0][0] + reach
    pads = (max(0, -low), max(0, high - x.shape[2])), *window.pads[1:]
    seen = x[:, :, max(0, low) : min(high, x.shape[2])]
    return seen, y[:, :, first:stop], Window(window.kernel, window.stride, pads, window.dilation)
