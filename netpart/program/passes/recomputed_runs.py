"""Runs: the recomputed instructions of a forward pass, grouped by what they make for each other.

    norm1 ── relu1 ── CONV2 ── norm2 ── relu2 ── CONV3 ── norm3 ── add3       conv is kept; the runs:
               └──────────────────────────────────────────────────┘           norm1 relu1 │ norm2 relu2 │ norm3 add3

Two recomputed instructions are in one run if one reads what the other makes, directly or through others of the run, and
no way between them leads through a kept one. Of a net without kept layers each connected piece is one run. The order of
the instructions does not matter: a kept layer of another branch does not end a run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from netpart.program.instructions import Accumulate, CollectiveStart, Copy, Forward, Instruction
from netpart.program.passes.segments import Repeatable, read_buffers, written_buffers


def find_recomputed_runs(
    instructions: Sequence[Instruction], recomputed: Sequence[Repeatable]
) -> list[list[Repeatable]]:
    """The runs of the ``recomputed`` among the ``instructions`` of a forward pass, each in their order."""
    levels = _count_kept_before(instructions, {id(i) for i in recomputed})
    joined = list(range(len(recomputed)))
    makers: dict[int, int] = {}

    def first(at: int) -> int:
        while joined[at] != at:
            joined[at] = at = joined[joined[at]]
        return at

    for at, instruction in enumerate(recomputed):
        for b in (*written_buffers(instruction), *read_buffers(instruction)):
            if b in makers and levels[id(recomputed[makers[b]])] == levels[id(instruction)]:
                joined[first(at)] = first(makers[b])
        makers.update((b, at) for b in written_buffers(instruction) if b not in makers)
    runs: dict[int, list[Repeatable]] = {}
    for at, instruction in enumerate(recomputed):
        runs.setdefault(first(at), []).append(instruction)
    return list(runs.values())


def _count_kept_before(instructions: Sequence[Instruction], recomputed: set[int]) -> dict[int, int]:
    """For each of the ``recomputed`` (by id) the most changes from recomputed to kept on any way to it, on this worker.

    On a way that leads from a run through a kept instruction the number grows, so what comes after it is another run.
    """
    levels: dict[int, int] = {}
    made = set[int]()
    for instruction in instructions:
        again = id(instruction) in recomputed
        level = max((levels.get(b, 0) + (b in made and not again) for b in _flows_from(instruction)), default=0)
        for b in _flows_to(instruction):
            levels[b] = max(level, levels.get(b, 0))
            if again:
                made.add(b)
    # After all writers of a buffer are known: a Concate or Sum has several.
    return {id(i): max((levels[b] for b in _flows_to(i)), default=0) for i in instructions if id(i) in recomputed}


def _flows_from(instruction: Instruction) -> Iterator[int]:
    """The buffers that an instruction of a forward pass reads."""
    if isinstance(instruction, Forward | Copy | Accumulate):
        yield from read_buffers(instruction)
    elif isinstance(instruction, CollectiveStart):
        yield from (view.buffer for view in instruction.local if view is not None)


def _flows_to(instruction: Instruction) -> Iterator[int]:
    """The buffers that an instruction of a forward pass writes, of those that others on this worker read."""
    if isinstance(instruction, Forward | Copy | Accumulate):
        yield from written_buffers(instruction)
    elif isinstance(instruction, CollectiveStart):
        yield from (view.buffer for view in instruction.target if view is not None)
