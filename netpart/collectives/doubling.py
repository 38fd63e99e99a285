"""Recursive doubling (and, backwards, halving): what a place holds doubles in each of ⌈log2 N⌉ rounds.

In round k place i asks place i + 2^k for the run of blocks that starts there, for any N: Bruck et al., "Efficient
algorithms for all-to-all communications in multiport message-passing systems", IEEE TPDS 8(11), 1997, section 4.
"""

from __future__ import annotations

from collections.abc import Iterator

from netpart.collectives.schedule import BlockMessage, Schedule


def doubling_all_gather(n: int) -> Schedule:
    """Gives every place the block of every other: block i starts at place i."""
    return tuple(message for held in powers_of_two(n) for message in _doubling_round(n, held))


def _doubling_round(n: int, held: int) -> Iterator[BlockMessage]:
    """The round before which every place holds ``held`` blocks, its own first."""
    for i in range(n):
        run = tuple((i + j) % n for j in range(min(held, n - held)))
        yield BlockMessage(i, (i - held) % n, run)


def powers_of_two(n: int) -> list[int]:
    """1, 2, 4, … below ``n``."""
    return [1 << k for k in range((n - 1).bit_length())]
