"""Recursive doubling (and, reversed, halving): the blocks that a place holds double in each of ⌈log2 N⌉ rounds.

In round k place i receives from place i + 2^k the run of blocks that starts there, for any N: Bruck et al., "Efficient
algorithms for all-to-all communications in multiport message-passing systems", IEEE TPDS 8(11), 1997, section 4.
"""

from __future__ import annotations

from collections.abc import Iterator

from netpart.collectives.schedule import BlockMessage, BlockMessages


def doubling_all_gather(n: int) -> BlockMessages:
    """All-gather: block i starts at place i."""
    return tuple(message for held in powers_of_two(n) for message in _doubling_round(n, held))


def _doubling_round(n: int, held: int) -> Iterator[BlockMessage]:
    """The messages of the round at whose start every place holds ``held`` blocks, from its own one on."""
    for i in range(n):
        # In the last round fewer than ``held`` blocks are missing unless n is a power of two.
        run = tuple((i + j) % n for j in range(min(held, n - held)))
        yield BlockMessage(i, (i - held) % n, run)


def powers_of_two(n: int) -> list[int]:
    """The powers of two below ``n``: 1, 2, 4, …"""
    return [1 << k for k in range((n - 1).bit_length())]
