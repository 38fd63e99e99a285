"""Recomputation: activations are dropped after forward, and computed again just before backward reads them.

Chen et al., Training deep nets with sublinear memory cost (arXiv:1604.06174): the forward pass is cut into segments,
and only what crosses a border is kept. Of n equal layers in k segments k + n / k are held at a time, at least
2 sqrt(n).

    forward   s0 ───┃ s1 ───┃ s2 ───                          ┃ is kept, and so are input data and received messages
    backward                          s2 ── (s1) s1 ── (s0) s0 ──          (s1): forward of s1 once more
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, replace
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

from netpart.program.buffer_table import BufferTable
from netpart.program.buffers import ARENA, View
from netpart.program.instructions import Accumulate, Backward, Copy, Forward, Instruction
from netpart.program.passes.segments import Repeatable, read_buffers, split_segments, written_buffers
from netpart.program.schedules.schedule import Turn

PartKey = tuple[int, int]
"""Micro-batch and index of a part."""
T = TypeVar("T", bound=Forward | Copy | Accumulate | Backward)


class TurnInstructions(NamedTuple):
    """The instructions of one turn."""

    turn: Turn
    instructions: list[Instruction]


class ForwardSegment(NamedTuple):
    """A run of instructions of a forward pass; ``own`` are the buffers that no other segment makes or reads."""

    run: list[Repeatable]
    own: set[int]


def choose_recomputation(
    memory: BufferTable, passes: list[TurnInstructions], width: int, arena: Callable[[list[TurnInstructions]], int]
) -> list[TurnInstructions]:
    """``passes`` with each forward pass in the number of segments that gives the smallest ``arena``, in bytes.

    Returns ``passes`` itself if dropping saves nothing. Tries 1, 2, 4, … segments, up to 2 sqrt(n) for n instructions.
    ``width``: bytes of a FLOAT.
    """
    found = Recomputation(memory, passes, width)
    known = len(memory.buffers)
    sizes = {0: arena(passes)}
    longest = max(map(len, found.runs.values()), default=0)
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
    """The passes of one worker in a step, and those of their instructions that can be repeated."""

    def __init__(self, memory: BufferTable, passes: list[TurnInstructions], width: int) -> None:
        self.memory = memory
        self.plain = passes
        self.width = width
        backward = [i for each in passes for i in each.instructions if isinstance(i, Backward)]
        self.trained = {(i.micro, i.part) for i in backward}
        self.reread = {b for i in backward for b in _reread_buffers(i)}
        self.runs: dict[Turn, list[Repeatable]] = {
            turn: [i for i in instructions if isinstance(i, Repeatable) and self.can_repeat(i)]
            for turn, instructions in passes
            if not turn.backward
        }

    def can_repeat(self, instruction: Repeatable) -> bool:
        """True for parts with a backward, and for copies and sums of activations, but not of data or parameters."""
        if isinstance(instruction, Forward):
            return (instruction.micro, instruction.part) in self.trained
        return self.memory.buffers[instruction.source.buffer].kind == ARENA

    def passes(self, count: int) -> list[TurnInstructions]:
        """The passes with each forward pass in ``count`` segments."""
        of = {(i.micro, i.part): s for s in self.dropped(count) for i in s.run if isinstance(i, Forward)}
        return [
            TurnInstructions(turn, list(self.backward(each, of)) if turn.backward else each)
            for turn, each in self.plain
        ]

    def dropped(self, count: int) -> list[ForwardSegment]:
        """The segments that are recomputed: all but the last of a pass whose backward follows at once."""
        segments = list[ForwardSegment]()
        touched = Counter[int]()
        following = {a.turn: b.turn for a, b in pairwise(self.plain)}
        for turn, run in self.runs.items():
            pieces = self.split(run, count)
            touched.update(b for each in pieces for b in each.own)
            segments += pieces[:-1] if following.get(turn) == turn._replace(backward=True) else pieces
        # A buffer that two segments touch crosses a border: it is kept.
        once = {b for b, times in touched.items() if times == 1}
        return [ForwardSegment(run, own & once) for run, own in segments]

    def split(self, run: list[Repeatable], count: int) -> list[ForwardSegment]:
        """``run`` in segments, with all buffers that each makes or reads as its ``own``."""
        buffers = self.memory.buffers
        nbytes = {b: buffers[b].nbytes(self.width) for i in run for b in written_buffers(i)}
        pieces = split_segments(run, nbytes, self.reread, count)
        return [
            ForwardSegment(piece, {b for i in piece for b in (*written_buffers(i), *read_buffers(i))})
            for piece in pieces
        ]

    def backward(self, instructions: list[Instruction], of: Mapping[PartKey, ForwardSegment]) -> Iterator[Instruction]:
        """A backward pass that repeats each segment before it first reads from it; ``of`` has the segment of a part."""
        copies: dict[int, dict[int, int]] = {}
        for instruction in instructions:
            if not isinstance(instruction, Backward) or (instruction.micro, instruction.part) not in of:
                yield instruction
                continue
            segment = of[instruction.micro, instruction.part]
            if id(segment) not in copies and not segment.own.isdisjoint(_reread_buffers(instruction)):
                run = self.needed(segment)
                copies[id(segment)] = fresh = self.copied(run)
                yield from (_rebind_buffers(_without_metrics(i), fresh) for i in run)
            yield _rebind_buffers(instruction, copies.get(id(segment), {}))

    def needed(self, segment: ForwardSegment) -> list[Repeatable]:
        """The instructions of a segment that are needed to make what backward reads from it."""
        # Backwards through the segment: an instruction's inputs become wanted once the instruction is.
        wanted = segment.own & self.reread
        found = list[Repeatable]()
        for instruction in reversed(segment.run):
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


def _reread_buffers(instruction: Backward) -> Iterator[int]:
    """The buffers of forward that an instruction of a backward pass reads again."""
    yield from (view.buffer for view in (*instruction.x, *instruction.reads) if view is not None)


def _without_metrics(instruction: Repeatable) -> Repeatable:
    """``instruction`` without its metrics, which a step must add up only once."""
    return replace(instruction, metrics=None) if isinstance(instruction, Forward) else instruction


def _rebind_buffers(instruction: T, fresh: Mapping[int, int]) -> T:
    """``instruction`` with every buffer replaced for which ``fresh`` has a new one."""

    def moved(value: Any) -> Any:
        if isinstance(value, View):
            return replace(value, buffer=fresh.get(value.buffer, value.buffer))
        return tuple(map(moved, value)) if isinstance(value, tuple) else value

    return replace(instruction, **{f.name: moved(getattr(instruction, f.name)) for f in fields(instruction)})
