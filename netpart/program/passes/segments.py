"""Segments: where a forward pass is best cut if only what crosses a border is to stay."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate

from netpart.program.instructions import Accumulate, Copy, Forward

Repeatable = Forward | Copy | Accumulate
"""What can be done again: it reads and writes memory alone."""


def written_buffers(instruction: Repeatable) -> Iterator[int]:
    """The buffers that an instruction of a forward pass writes to."""
    if isinstance(instruction, Forward):
        yield from (view.buffer for view in (*instruction.y, *instruction.aux))
    else:
        yield instruction.target.buffer


def read_buffers(instruction: Repeatable) -> Iterator[int]:
    """The activations that an instruction of a forward pass reads, as buffers."""
    if isinstance(instruction, Forward):
        yield from (view.buffer for view in instruction.x if view is not None)
    else:
        yield instruction.source.buffer


def split_segments(
    run: Sequence[Repeatable], nbytes: Mapping[int, int], reread: set[int], count: int
) -> Iterator[list[Repeatable]]:
    """``run`` in ``count`` segments that make about the same bytes of what backward reads.

    Borders are where the fewest bytes cross within half a segment of that; those that backward does not read count
    twice, for they would not be held otherwise. ``nbytes`` has the buffers that ``run`` writes to.
    """
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for at, instruction in enumerate(run):
        for b in (*written_buffers(instruction), *read_buffers(instruction)):
            if b in nbytes:
                first.setdefault(b, at)
                last[b] = at
    crossing = [0] * (len(run) + 1)
    made = [0] * (len(run) + 1)
    for b, at in first.items():
        price = nbytes[b] * (1 if b in reread else 2)
        crossing[at + 1] += price
        crossing[last[b] + 1] -= price
        made[at + 1] += nbytes[b] * (b in reread)
    start = 0
    for end in [*_segment_borders(list(accumulate(crossing)), list(accumulate(made)), count), len(run)]:
        if end > start:
            yield list(run[start:end])
            start = end


def _segment_borders(crossing: Sequence[int], made: Sequence[int], count: int) -> Iterator[int]:
    """``count`` - 1 places, rising: for each multiple of the share of a segment the one in reach that costs least."""
    share = made[-1] / count
    for j in range(1, count):
        reach = [at for at, done in enumerate(made) if abs(done - j * share) <= share / 2]
        if reach:
            yield min(reach, key=lambda at: (crossing[at], abs(made[at] - j * share)))
