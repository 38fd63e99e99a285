"""Strips of a convolution, some lines of its first spatial axis or some images, for the gradient of its weights.

oneDNN reads 16 channels at a time for it, far apart in memory, and repeatedly. That is fast from a cache, and up to ten
times slower from memory. A strip is small enough to be copied into the cache first, in the order of memory.
"""

from __future__ import annotations

from itertools import pairwise, product
from math import ceil, prod

from netpart.kernels.op import Array, Window

BYTES = 1 << 20
"""Bytes of a strip, which fit a core's L2 cache: the fastest of 0.5 to 4 MiB, for volumes of 32 to 192 channels."""
LEAST = 16
"""The least channels with which oneDNN adds up a line at a time; with fewer it adds up place after place."""
MOST = 8192
"""The most places that it may then add up in one run, unless a single line has more."""

Strip = tuple[Array, Array, Window]


def cut_strips(x: Array, y: Array, w: Array, window: Window) -> list[Strip]:
    """The strips: views of x and of y, and the window between them; strips that read only padding are omitted.

    A single strip means that there is nothing to gain from cutting. If all read only padding, all are returned.
    """
    lines = min(_lines_in_cache(x, y, w), MOST // prod(y.shape[3:]) if x.shape[1] < LEAST else len(y) * y.shape[2])
    images = _even_ranges(len(y), lines // y.shape[2])
    spans = _even_ranges(y.shape[2], lines)
    found = [_cut_strip(x[i:j], y[i:j], window, *span) for (i, j), span in product(images, spans)]
    return [strip for strip in found if strip[0].size] or found


def _lines_in_cache(x: Array, y: Array, w: Array) -> int:
    """The lines of y in a strip: as many as fit into BYTES, or into twice the bytes of w; all of them if w is large.

    w is added up once for each strip, which must not take longer than the strip itself.
    """
    lines = len(y) * int(y.shape[2])
    size = int(x.nbytes + y.nbytes)
    space = max(BYTES, 2 * int(w.nbytes))
    return space * lines // size if space <= 4 * BYTES else lines


def group_strips(found: list[Strip]) -> list[list[Strip]]:
    """The strips in groups of equal shapes and windows, which differ only in their addresses."""
    kinds: dict[object, list[Strip]] = {}
    for strip in found:
        seen, made, window = strip
        kinds.setdefault((seen.shape, made.shape, window), []).append(strip)
    return list(kinds.values())


def _even_ranges(extent: int, most: int) -> list[tuple[int, int]]:
    """Cut ``extent`` into ranges of at most ``most`` (at least 1) whose lengths differ by at most 1."""
    parts = ceil(extent / max(1, most))
    return list(pairwise(extent * part // parts for part in range(parts + 1)))


def _cut_strip(x: Array, y: Array, window: Window, first: int, stop: int) -> Strip:
    """The lines of y from ``first`` to ``stop``, and the lines of x that their windows read; x's borders are padded."""
    reach = (window.kernel[0] - 1) * (window.dilation[0] if window.dilation else 1) + 1
    low = first * window.stride[0] - window.pads[0][0]
    high = (stop - 1) * window.stride[0] - window.pads[0][0] + reach
    pads = (max(0, -low), max(0, high - x.shape[2])), *window.pads[1:]
    seen = x[:, :, max(0, low) : min(high, x.shape[2])]
    return seen, y[:, :, first:stop], Window(window.kernel, window.stride, pads, window.dilation)
