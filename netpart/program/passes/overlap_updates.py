"""Soon: a sharded update, and the exchange of what came of it, as soon as the sum is there, while backward goes on.

    backward conv2 ─ start reduce-scatter ─ backward pool1 ─ .. ─ wait ─ update ─ start all-gather ─ .. ─ wait
                                            └─ update ─ start all-gather: whenever the sum has come ─┘

Nobody waits for a sum before the end of backward, so how the workers wait for each other stays what it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from netpart.program.arena import owning_buffer
from netpart.program.buffers import Buffer, View
from netpart.program.instructions import Channel, CollectiveStart, CollectiveWait, Instruction, Update, Way


def overlap_updates(
    buffers: Sequence[Buffer], instructions: Sequence[Instruction], read: Sequence[Sequence[View]]
) -> list[Instruction]:
    """``instructions``, each Update between the halves of an all-reduce, and the start of its second half, in the
    ``then`` of its first.

    ``read`` as in ``early``. What is touched in between stays where it is, and so does an update that needs the norm of
    all gradients.
    """
    found: dict[int, Instruction] = dict(enumerate(instructions))
    last: dict[int, int] = {}
    for at, wait in enumerate(instructions):
        then = _following_update(instructions, at)
        if isinstance(wait, CollectiveWait) and then is not None:
            start = next(i for i in range(at) if instructions[i] is wait.start)
            if all(last.get(owning_buffer(buffers, view.buffer), -1) <= start for view in read[then[0].holding]):
                found[start] = first = replace(wait.start, then=then)
                found[at] = CollectiveWait(first)
                del found[at + 1], found[at + 2]
        last.update({owning_buffer(buffers, view.buffer): at for view in wait.views})
    return list(found.values())


def _following_update(instructions: Sequence[Instruction], at: int) -> tuple[Update, CollectiveStart] | None:
    """The update right behind the instruction at ``at``, and the start that brings others what came of it."""
    match instructions[at + 1 : at + 3]:
        case [Update(norm=None) as update, CollectiveStart(channel=Channel(way=Way.VALUES)) as start]:
            return update, start
    return None
