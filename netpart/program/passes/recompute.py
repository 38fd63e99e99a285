"""Recomputation: activations are dropped after forward, and computed again just before backward reads them.

Chen et al., Training deep nets with sublinear memory cost (arXiv:1604.06174): the forward pass is cut into segments,
and only what crosses a border is kept. Of n equal layers in k segments k + n / k are held at a time, at least
2 sqrt(n).

    forward   s0 ───┃ s1 ───┃ s2 ───                          ┃ is kept, and so are input data and received messages
    backward                          s2 ── (s1) s1 ── (s0) s0 ──          (s1): forward of s1 once more

Borders are where a kept layer is between recomputed ones (``recomputed_runs.py``), and where they save most in a run of
recomputed layers (``segments.py``). A buffer is dropped if a recomputed layer makes it and no other segment reads it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import fields, replace
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

from netpart.program.buffer_table import BufferTable
from netpart.program.buffers import ARENA, View
from netpart.program.instructions import Accumulate, Backward, Copy, Forward, Instruction
from netpart.program.passes.recomputed_runs import find_recomputed_runs
from netpart.program.passes.segments import Repeatable, read_buffers, split_runs, written_buffers
from netpart.program.schedules.schedule import Turn

PartKey = tuple[int, int]
"""Micro-batch and index of a part."""
T = TypeVar("T", bound=Forward | Copy | Accumulate | Backward)


class TurnInstructions(NamedTuple):
    """The instructions of one turn."""

    turn: Turn
    instructions: list[Instruction]


class ForwardSegment(NamedTuple):
    """A run of a forward pass, or a piece of one; ``own`` are the buffers that it makes and no other segment reads."""

    instructions: list[Repeatable]
    own: set[int]


def choose_recomputation(
    memory: BufferTable, passes: list[TurnInstructions], width: int, marked: Collection[int],
    arena: Callable[[list[TurnInstructions]], int],
) -> list[TurnInstructions]:  # fmt: skip
    """``passes`` with each forward pass in the number of segments that gives the smallest ``arena``, in bytes.

    Returns ``passes`` itself if dropping saves nothing. Tries 1, 2, 4, … segments, up to 2 sqrt(n) for n instructions.
    ``width``: bytes of a FLOAT. ``marked``: the buffers of recomputed layers; those of all others are kept.
    """
    found = Recomputation(memory, passes, width, marked)
    known = len(memory.buffers)
    sizes = {0: arena(passes)}
    longest = max((sum(map(len, runs)) for runs in found.runs.values()), default=0)
    for count in (1 << i for i in range(longest) if 4**i <= 4 * longest):
        sizes[count] = arena(found.passes(count))
        del memory.buffers[known:]  # each trial adds the buffers of its recomputed activations
    best = min(sizes, key=sizes.__getitem__)
    return found.passes(best) if best else passes


def repeated_forwards(instructions: Iterable[Instruction]) -> Iterator[Forward]:
    """The Forwards of parts that have already run forward in the step."""
    seen = set[PartKey]()
    for call in (i for i in instructions if isinstance(i, Forward)):
        for each in (call, call.then):
            if each is not None and (each.micro, each.part) in seen:
                yield each
            elif each is not None:
                seen.add((each.micro, each.part))


class Recomputation:
    """The passes of one worker in a step, and the runs of their instructions that are repeated; ``marked`` as in
    ``choose_recomputation``."""

    def __init__(
        self, memory: BufferTable, passes: list[TurnInstructions], width: int, marked: Collection[int]
    ) -> None:
        self.memory = memory
        self.plain = passes
        self.width = width
        self.marked = frozenset(marked)
        backward = [i for each in passes for i in each.instructions if isinstance(i, Backward)]
        self.trained = {(i.micro, i.part) for i in backward}
        self.reread = {b for i in backward for b in _reread_buffers(i)}
        self.runs: dict[Turn, list[list[Repeatable]]] = {
            turn: self.find_runs(instructions) for turn, instructions in passes if not turn.backward
        }

    def find_runs(self, instructions: list[Instruction]) -> list[list[Repeatable]]:
        """The runs of a forward pass."""
        again = [i for i in instructions if isinstance(i, Repeatable) and self.is_recomputed(i)]
        return find_recomputed_runs(instructions, again)

    def is_recomputed(self, instruction: Repeatable) -> bool:
        """True for parts of recomputed layers that have a backward, and for copies and sums of the activations that
        such layers make or read, but not of data or parameters."""
        if isinstance(instruction, Forward):
            return self.is_trained(instruction) and not self.marked.isdisjoint(written_buffers(instruction))
        touched = instruction.source.buffer, instruction.target.buffer
        return self.memory.buffers[touched[0]].kind == ARENA and not self.marked.isdisjoint(touched)

    def is_trained(self, instruction: Forward) -> bool:
        """True if the part of ``instruction`` has a backward."""
        return (instruction.micro, instruction.part) in self.trained

    def passes(self, count: int) -> list[TurnInstructions]:
        """The passes with each forward pass in ``count`` segments."""
        owners = {b: segment for segment in self.dropped(count) for b in segment.own}
        fresh: dict[int, int] = {}
        found = dict(enumerate(self.plain))
        # A mini-batch is in the passes with less delay first, wherever they are in a step.
        for at, (turn, each) in sorted(found.items(), key=lambda item: _least_delay(item[1].instructions)):
            if turn.backward:
                found[at] = TurnInstructions(turn, list(self.backward(each, owners, fresh)))
        return list(found.values())

    def dropped(self, count: int) -> list[ForwardSegment]:
        """The segments that are recomputed: all of which nothing is read at once."""
        segments = list[ForwardSegment]()
        touched = Counter[int]()
        for runs in self.runs.values():
            written = {b for run in runs for i in run for b in written_buffers(i)}
            nbytes = {b: self.memory.buffers[b].nbytes(self.width) for b in written}
            for piece in split_runs(runs, nbytes, self.reread, count):
                segments.append(ForwardSegment(piece, {b for i in piece for b in written_buffers(i)}))
                touched.update(segments[-1].own.union(*map(read_buffers, piece)))
        # A buffer that two segments touch crosses a border: it is kept.
        once = {b for b, times in touched.items() if times == 1}
        at_once = self.read_at_once()
        return [ForwardSegment(piece, own & once) for piece, own in segments if at_once.isdisjoint(own & once)]

    def read_at_once(self) -> set[int]:
        """What the first Backward to read anything reads, of each pass that follows its forward pass at once.

        To drop that would save nothing.
        """
        found = set[int]()
        for (turn, ahead), back in pairwise(self.plain):
            if back.turn == turn._replace(backward=True) and not _least_delay(back.instructions):
                made = {b for i in ahead if isinstance(i, Forward) and self.is_trained(i) for b in written_buffers(i)}
                reads = (made.intersection(_reread_buffers(i)) for i in back.instructions if isinstance(i, Backward))
                found |= next(filter(None, reads), set())
        return found

    def backward(
        self, instructions: list[Instruction], owners: Mapping[int, ForwardSegment], fresh: dict[int, int]
    ) -> Iterator[Instruction]:
        """A backward pass that repeats each segment before it first reads from it. ``owners`` has the segment of each
        dropped buffer, ``fresh`` the buffers of what was repeated so far, in this pass and in earlier ones."""
        for instruction in instructions:
            if not isinstance(instruction, Backward):
                yield instruction
                continue
            for b in _reread_buffers(instruction):
                if b in owners and b not in fresh:
                    run = self.needed(owners[b])
                    fresh.update(self.copied(run))
                    yield from (_repeat_instruction(i, fresh, instruction.delay) for i in run)
            yield _rebind_buffers(instruction, fresh)

    def needed(self, segment: ForwardSegment) -> list[Repeatable]:
        """The instructions of a segment that are needed to make what backward reads from it."""
        # Backwards through the segment: an instruction's inputs become wanted once the instruction is.
        wanted = segment.own & self.reread
        found = list[Repeatable]()
        for instruction in reversed(segment.instructions):
            if not wanted.isdisjoint(written_buffers(instruction)):
                found.append(instruction)
                wanted.update(segment.own.intersection(read_buffers(instruction)))
        return found[::-1]

    def copied(self, run: list[Repeatable]) -> dict[int, int]:
        """A new buffer for each one that ``run`` writes."""
        found: dict[int, int] = {}
        for b in dict.fromkeys(b for i in run for b in written_buffers(i)):
            buffer = self.memory.buffers[b]
            found[b] = self.memory.new(buffer.name, buffer.shape, buffer.dtype, order=buffer.order).buffer
        return found


def _least_delay(instructions: list[Instruction]) -> int:
    """The delay of a pass: that of all its instructions but some at its end."""
    return min((i.delay for i in instructions), default=0)


def _reread_buffers(instruction: Backward) -> Iterator[int]:
    """The buffers of forward that an instruction of a backward pass reads again."""
    yield from (view.buffer for view in (*instruction.x, *instruction.reads) if view is not None)


def _repeat_instruction(instruction: Repeatable, fresh: Mapping[int, int], delay: int) -> Repeatable:
    """``instruction`` once more, for the mini-batch of ``delay``, without its metrics: a step adds these up once."""
    found = replace(_rebind_buffers(instruction, fresh), delay=delay)
    return replace(found, metrics=None) if isinstance(found, Forward) else found


def _rebind_buffers(instruction: T, fresh: Mapping[int, int]) -> T:
    """``instruction`` with every buffer replaced for which ``fresh`` has a new one."""

    def moved(value: Any) -> Any:
        if isinstance(value, View):
            return replace(value, buffer=fresh.get(value.buffer, value.buffer))
        return tuple(map(moved, value)) if isinstance(value, tuple) else value

    return replace(instruction, **{f.name: moved(getattr(instruction, f.name)) for f in fields(instruction)})
