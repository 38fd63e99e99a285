"""Philox4x32-10, the counter-based generator of all random numbers (Salmon et al., SC 2011).

A draw depends only on key and counter, so each worker computes just the elements it holds:

    key     = hash(seed, unpartitioned layer name, purpose)
    counter = (step, phase, global row in the mini-batch, global element // 4), lane = element % 4

where the element counts in row-major order within the uncut row. One block gives 4 words of 32 bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b
from math import pi
from typing import Any

import numpy as np

from netpart.kernels.op import Array
from netpart.spec import Region, Shape, extent, size

Key = tuple[int, int]

WORD = 0xFFFFFFFF
MULTIPLIERS = 0xD2511F53, 0xCD9E8D57
WEYL = 0x9E3779B9, 0xBB67AE85
ROUNDS = 10
BLOCKS = 1 << 14
"""Blocks computed at once: 128 KiB per array of words."""


def stream_key(seed: int, name: str, purpose: str) -> Key:
    """The two key words of a stream: BLAKE2b of seed, unpartitioned layer name and purpose."""
    digest = blake2b(f"{seed}\0{name}\0{purpose}".encode(), digest_size=8).digest()
    return int.from_bytes(digest[:4], "little"), int.from_bytes(digest[4:], "little")


def philox4x32(xp: Any, words: Sequence[Array], spare: Array, key: Key) -> list[Array]:
    """Encrypt counters in place and return the four output words, which live in the same arrays.

    ``words``: four uint64 arrays of one shape, each element below 2^32; ``spare``: one more.
    """
    return _encrypt(xp, words, spare, _round_numbers(key))


def _round_numbers(key: Key) -> list[list[int]]:
    """The multipliers and the two words of the key of each round."""
    keys = ([(word + i * step) & WORD for word, step in zip(key, WEYL, strict=True)] for i in range(ROUNDS))
    return [[*MULTIPLIERS, *words] for words in keys]


def _encrypt(xp: Any, words: Sequence[Array], spare: Array, rounds: Iterable[Sequence[Any]]) -> list[Array]:
    """``philox4x32`` by rounds of ``_round_numbers``, which may be arrays."""
    c0, c1, c2, c3 = words
    for m0, m1, k0, k1 in rounds:
        xp.multiply(c0, m0, out=c0)
        xp.multiply(c2, m1, out=c2)
        # Products of words below 2^32 fit uint64: the high word is mixed into the other counter, the low word stays.
        for other, product, k in ((c1, c2, k0), (c3, c0, k1)):
            xp.right_shift(product, 32, out=spare)
            xp.bitwise_xor(other, spare, out=other)
            xp.bitwise_xor(other, k, out=other)
            xp.bitwise_and(product, WORD, out=product)
        c0, c1, c2, c3 = c1, c2, c3, c0
    return [c0, c1, c2, c3]


class _FirstRounds:
    """The first two rounds of the counters (step, phase, row, block) of ``rows`` (B, 1) and ``blocks`` (n,).

    Until then most words are the same for all blocks of a row, or for all rows: those that do not depend on the step
    are computed here, the others once for each block.
    """

    def __init__(self, xp: Any, rounds: Sequence[Sequence[Array]], phase: int, rows: Array, blocks: Array) -> None:
        (m0, m1, k0, k1), (_, _, k2, k3) = rounds
        product = rows * m1
        turned = ((product >> 32) ^ phase ^ k0) * m0
        self.xp = xp
        self.multiplier = m1
        # What words 0 and 2 are mixed with, and word 3.
        self.of_rows = (product & WORD) ^ k2, (turned >> 32) ^ k3, turned & WORD
        self.of_blocks = blocks ^ k1

    def write(self, words: Sequence[Array], spare: Array, step: int, rows: slice) -> None:
        """Write the words of ``rows`` after these rounds; overwrites ``spare``."""
        xp = self.xp
        high, low = divmod((step & WORD) * MULTIPLIERS[0], WORD + 1)
        first, third, last = (array[rows] for array in self.of_rows)
        blocks = spare[:1]
        xp.bitwise_xor(self.of_blocks, high, out=blocks)
        xp.multiply(blocks, self.multiplier, out=blocks)
        xp.bitwise_and(blocks, WORD, out=words[1])
        xp.right_shift(blocks, 32, out=blocks)
        xp.bitwise_xor(blocks, first, out=words[0])
        xp.bitwise_xor(third, low, out=words[2])
        xp.copyto(words[3], last)


def _element_indices(box: Region, shape: Shape, start: int, stop: int) -> Array:
    """Row-major indices in a tensor of ``shape`` of the elements ``start`` to ``stop`` of ``box``."""
    rest = np.arange(start, stop, dtype=np.int64)
    stride = 1
    found = np.zeros_like(rest)
    for (lo, hi), length in zip(reversed(box), reversed(shape), strict=True):
        rest, position = np.divmod(rest, hi - lo)
        found += (position + lo) * stride
        stride *= length
    return found


def _block_numbers(found: Array) -> tuple[Array, Array]:
    """The numbers of the blocks that ascending element indices need, and each element's index among their words."""
    quads = found >> 2
    fresh = np.ones(len(quads), dtype=bool)
    fresh[1:] = quads[1:] != quads[:-1]
    return quads[fresh].astype(np.uint64), (np.cumsum(fresh) - 1) * 4 + (found & 3)


class UniformDraws:
    """Uniform draws for one region of one layer, planned before the first step.

    ``rows`` are rows of the global mini-batch, ``box`` the region of the other axes and ``shape`` their
    uncut extents. ``scratch`` lists the temporaries that ``uniform`` needs.
    """

    def __init__(self, xp: Any, key: Key, rows: tuple[int, int], box: Region, shape: Shape, phase: int) -> None:
        self.xp = xp
        self.key = key
        self.phase = phase
        self.box = box
        self.shape = shape
        self.first = rows[0]
        quads, pick = _block_numbers(_element_indices(box, shape, 0, size(box)))
        # None: all words of all blocks are wanted, in order.
        self.pick = None if np.array_equal(pick, np.arange(4 * len(quads))) else xp.asarray(pick)
        self.features = len(pick)
        self.rows = xp.arange(*rows, dtype="uint64").reshape(-1, 1)
        # As arrays: NumPy converts a number in each call, which takes as long as mixing 1,000 words.
        rounds = [[xp.asarray(number, dtype="uint64") for number in numbers] for numbers in _round_numbers(key)]
        self.early, self.late = _FirstRounds(xp, rounds[:2], phase, self.rows, xp.asarray(quads)), rounds[2:]
        self.chunk = max(1, min(len(self.rows), BLOCKS // max(1, len(quads))))
        state = (self.chunk, len(quads))
        self.scratch: list[tuple[tuple[int, ...], Any]] = [((4, *state), "uint64"), (state, "uint64")]
        if self.pick is not None:
            self.scratch += [((*state, 4), "float32"), ((self.chunk, len(pick)), "float32")]
        # numpy buffers ``out`` unless the mode is clip; cupy has no such argument.
        self.take_options = {"mode": "clip"} if xp is np else {}

    def uniform(self, out: Array, step: int, words: Array, spare: Array, *picking: Array) -> None:
        """Fill contiguous ``out`` (rows, *box) with uniforms in [0, 1) on a grid of 2^-24.

        float32 holds this grid exactly, so that nets of either precision see the same values.
        """
        out_rf = out.reshape(len(self.rows), self.features)
        for start in range(0, len(out_rf), self.chunk) if self.features else ():
            part = slice(start, start + self.chunk)
            count = len(out_rf[part])
            state = words[:, :count]
            self.early.write(state, spare[:count], step, part)
            mixed = _encrypt(self.xp, state, spare[:count], self.late)
            if self.pick is None:
                self._write_grid(mixed, out_rf[part].reshape(count, -1, 4))
            else:
                self._pick_grid(mixed, self.pick, out_rf[part], *(array[:count] for array in picking))

    def _write_grid(self, words: Sequence[Array], grid: Array) -> None:
        """Write the numbers of ``words`` to ``grid`` (rows, blocks, 4)."""
        xp = self.xp
        for lane, word in enumerate(words):
            xp.right_shift(word, 8, out=word)  # the 24 bits that float32 holds exactly
            xp.copyto(grid[:, :, lane], word)
        xp.multiply(grid, 2.0**-24, out=grid)

    def _pick_grid(self, words: Sequence[Array], pick: Array, out: Array, grid: Array, picked: Array) -> None:
        """Write the numbers of ``words`` that are wanted to ``out``."""
        self._write_grid(words, grid)
        self.xp.take(grid.reshape(len(out), -1), pick, axis=1, out=picked, **self.take_options)
        self.xp.copyto(out, picked)


def draw_uniforms(key: Key, box: Region, shape: Shape) -> Array:
    """Uniforms in [0, 1) on a grid of 2^-24, float64, for a region of a tensor of ``shape``."""
    return _draw_values(key, box, shape, lambda words: [(w >> np.uint64(8)) * 2.0**-24 for w in words])


def draw_normals(key: Key, box: Region, shape: Shape) -> Array:
    """Standard normals, float64, for a region of a tensor of ``shape``.

    Box and Muller 1958: lanes 0 and 1 of a block share a radius and an angle, so do lanes 2 and 3.
    """
    return _draw_values(key, box, shape, _box_muller)


def _box_muller(words: Sequence[Array]) -> list[Array]:
    found = []
    for first, second in (words[:2], words[2:]):
        radius = np.sqrt(-2 * np.log((first + 0.5) * 2.0**-32))  # half a step up, as log(0) is infinite
        angle = second * (2 * pi * 2.0**-32)
        found += [radius * np.cos(angle), radius * np.sin(angle)]
    return found


def _draw_values(key: Key, box: Region, shape: Shape, transform: Callable[[Sequence[Array]], list[Array]]) -> Array:
    out = np.empty(size(box))
    for start in range(0, len(out), 4 * BLOCKS):
        stop = min(start + 4 * BLOCKS, len(out))
        quads, pick = _block_numbers(_element_indices(box, shape, start, stop))
        words = philox4x32(np, _counter_words(0, 0, 0, quads), np.empty_like(quads), key)
        out[start:stop] = np.stack(transform(words), axis=-1).reshape(-1)[pick]
    return out.reshape(extent(box))


def _counter_words(step: int, phase: int, row: int | Array, quads: Array) -> Array:
    words = np.empty((4, len(quads)), dtype=np.uint64)
    words[0] = step
    words[1] = phase
    words[2] = row
    words[3] = quads
    return words


def draw_permutation(key: Key, epoch: int, n: int) -> Array:
    """A random order of ``range(n)``, int64, one per epoch: the stable argsort of n draws."""
    quads = np.arange(-(-n // 4), dtype=np.uint64)
    words = philox4x32(np, _counter_words(epoch, 0, 0, quads), np.empty_like(quads), key)
    return np.argsort(np.stack(words, axis=-1).reshape(-1)[:n], kind="stable")


def draw_integer(key: Key, step: int, phase: int, row: int, element: int, bound: int) -> int:
    """A draw from ``range(bound)``, 1 <= bound <= 2^32, for one element of one row at one step."""
    quads = np.array([element // 4], dtype=np.uint64)
    words = philox4x32(np, _counter_words(step, phase, row, quads), np.empty_like(quads), key)
    return int(words[element % 4][0]) * bound >> 32


def draw_integers(key: Key, step: int, phase: int, rows: tuple[int, int], bound: int) -> list[int]:
    """A draw of 64 bits from ``range(bound)``, 1 <= bound <= 2^64, for each of ``rows`` at one step."""
    row = np.arange(*rows, dtype=np.uint64)
    words = _counter_words(step & WORD, phase, row, np.zeros_like(row))
    high, low, *_ = philox4x32(np, words, row, key)
    return [(a << 32 | b) * bound >> 64 for a, b in zip(high.tolist(), low.tolist(), strict=True)]


__all__ = [
    "Key",
    "UniformDraws",
    "draw_integer",
    "draw_integers",
    "draw_normals",
    "draw_permutation",
    "draw_uniforms",
    "philox4x32",
    "stream_key",
]
