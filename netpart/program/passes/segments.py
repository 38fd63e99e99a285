"""Segments: the best borders in a forward pass if only the buffers that cross a border are kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate

from netpart.program.instructions import Accumulate, Copy, Forward

Repeatable = Forward | Copy | Accumulate
"""Instructions that can be repeated, as they only read and write memory."""


def written_buffers(instruction: Repeatable) -> Iterator[int]:
    """The buffers that an instruction of a forward pass writes."""
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


def split_runs(
    runs: Sequence[Sequence[Repeatable]], nbytes: Mapping[int, int], reread: set[int], count: int
) -> Iterator[list[Repeatable]]:
    """The ``runs`` of a pass in about ``count`` segments, one for each at least.

    A run has its share, by the bytes that backward reads. ``nbytes`` has the bytes of each buffer that they write.
    """
    made = [{b: nbytes[b] for i in run for b in written_buffers(i)} for run in runs]
    read = [sum(n for b, n in each.items() if b in reread) for each in made]
    for run, sizes, share in zip(runs, made, read, strict=True):
        yield from split_segments(run, sizes, reread, max(1, round(count * share / max(sum(read), 1))))


def split_segments(
    run: Sequence[Repeatable], nbytes: Mapping[int, int], reread: set[int], count: int
) -> Iterator[list[Repeatable]]:
    """``run`` in ``count`` segments, each of which makes about as many bytes that backward reads.

    A border lies where the fewest bytes cross, at most half a segment from the equal share. Buffers that backward does
    not read count twice, as they would not be held otherwise. ``nbytes`` has the bytes of the buffers that ``run``
    writes.
    """
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for at, instruction in enumerate(run):
        for b in (*written_buffers(instruction), *read_buffers(instruction)):
            if b in nbytes:
                first.setdefault(b, at)
                last[b] = at
    # Differences first, summed by accumulate below: each buffer costs two changes, however long it lives.
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
    """At most ``count`` - 1 positions: for each multiple of a segment's share, the cheapest one within reach."""
    share = made[-1] / count
    for j in range(1, count):
        reach = [at for at, done in enumerate(made) if abs(done - j * share) <= share / 2]
        if reach:
            yield min(reach, key=lambda at: (crossing[at], abs(made[at] - j * share)))
