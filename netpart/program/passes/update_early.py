"""Early updates: a parameter is updated as soon as the step no longer needs it, not at the end.

    backward fc2 │ start all-reduce │ update fc2 │ wait │ backward relu1 │ ...

Its gradient is then still in the cache, and if an exchange has just begun, the update runs while that is in progress.
"""

from __future__ import annotations

from collections.abc import Sequence

from netpart.program.arena import owning_buffer
from netpart.program.buffers import Buffer
from netpart.program.instructions import CollectiveStart, Instruction, Send, Update


def update_early(buffers: Sequence[Buffer], instructions: Sequence[Instruction]) -> list[Instruction]:
    """``instructions``, with each Update directly after the last instruction before it that touches its value or
    gradients. An update that needs the norm of all gradients stays where it is."""
    last: dict[int, int] = {}
    places = []
    for at, instruction in enumerate(instructions):
        if isinstance(instruction, Update) and instruction.norm is None:
            touched = max(last.get(owning_buffer(buffers, view.buffer), -1) for view in instruction.views)
            places.append(_last_following_send(instructions, touched))
        else:
            places.append(at)
        last.update({owning_buffer(buffers, b): places[at] for b in instruction.buffers})
    # Sorting is stable: an update follows the instruction whose index it has, which comes first in the list.
    return [instructions[at] for at in sorted(range(len(places)), key=places.__getitem__)]


def _last_following_send(instructions: Sequence[Instruction], at: int) -> int:
    """The last of the sends that directly follow instruction ``at``, or ``at``: other workers wait for them."""
    while isinstance(instructions[at + 1], CollectiveStart | Send):
        at += 1
    return at
