"""Overlap of sharded updates with backward: an update and the gather of its values run as soon as the sum is complete.

    backward conv2 ─ start reduce-scatter ─ backward pool1 ─ .. ─ wait ─ update ─ start all-gather ─ .. ─ wait
                                            └─ update ─ start all-gather: whenever the sum has come ─┘

No worker waits for a sum before the end of backward, so this does not change which workers wait for each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from netpart.program.arena import owning_buffer
from netpart.program.buffers import Buffer
from netpart.program.instructions import Channel, CollectiveStart, CollectiveWait, Instruction, Update, Way


def overlap_updates(buffers: Sequence[Buffer], instructions: Sequence[Instruction]) -> list[Instruction]:
    """``instructions`` in which each Update between the halves of an all-reduce, and the start of its second half, are
    moved into the ``then`` of the first half.

    An update stays where it is if something else touches its value or gradients in between, or if it needs the norm of
    all gradients.
    """
    found: dict[int, Instruction] = dict(enumerate(instructions))
    last: dict[int, int] = {}
    number = {id(each): at for at, each in enumerate(instructions)}
    for at, wait in enumerate(instructions):
        then = _following_update(instructions, at)
        if isinstance(wait, CollectiveWait) and then is not None:
            start = number[id(wait.start)]
            if all(last.get(owning_buffer(buffers, view.buffer), -1) <= start for view in then[0].views):
                found[start] = first = replace(wait.start, then=then)
                found[at] = CollectiveWait(first)  # the wait holds its start, which has changed
                del found[at + 1], found[at + 2]
        last.update({owning_buffer(buffers, b): at for b in wait.buffers})
    return list(found.values())


def _following_update(instructions: Sequence[Instruction], at: int) -> tuple[Update, CollectiveStart] | None:
    """The update directly after the instruction at ``at``, and the start that sends its values to other workers."""
    match instructions[at + 1 : at + 3]:
        case [Update(norm=None) as update, CollectiveStart(channel=Channel(way=Way.VALUES)) as start]:
            return update, start
    return None
