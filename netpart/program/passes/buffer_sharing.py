"""BufferSharing: which buffers may use the same memory although one is computed from the other.

OVER   y = relu(x)          y takes the place of x, if no later instruction reads x
SAME   y = x, a copy        both share memory, if neither is written while the other is still to be read

forward conv   w x                            forward relu   r x  w y     y over x: the last to read x makes y
backward add   r dy  w dx0  w dx1             both are dy: dx0 is read before dx1 is added to
backward norm             r dx0
add            r+w dx1
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import inf

from netpart.graph.partition import MicroBatch
from netpart.layers.layer import Layer, MemoryReuse
from netpart.program.arena import owning_buffer
from netpart.program.buffers import ARENA, Buffer, Order, View, inverse_axes, move_axes, same_layout
from netpart.program.instructions import (
    Accumulate,
    AddSquares,
    Backward,
    Copy,
    Forward,
    Instruction,
    Send,
    Update,
)
from netpart.spec import whole_region

PartLayers = Mapping[tuple[int, int], Layer]
"""The layer of each part, by micro-batch and index of the part."""
SharingOffer = tuple[View, View, MemoryReuse, Order]
"""The view that is made, the one that it is made from, how they may share memory, and the axis of the latter that each
axis of the former is (() if all are the same)."""


def layers_by_part(micros: list[MicroBatch], worker: int) -> PartLayers:
    """The layers of all parts of ``worker``."""
    parts = ((m, micro.graph, part) for m, micro in enumerate(micros) for part in micro.graph.parts_of_worker(worker))
    return {(m, part.index): graph.net.nodes[part.node].layer for m, graph, part in parts}


class BufferAccesses:
    """The times (indices of instructions) at which the buffers that share one place are read and written."""

    def __init__(self) -> None:
        self.reads: list[int] = []
        self.writes: list[int] = []

    @property
    def first(self) -> float:
        return min([*self.reads, *self.writes], default=inf)

    @property
    def last(self) -> float:
        return max([*self.reads, *self.writes], default=-1)

    def read_after(self, time: int) -> float:
        """The last time after ``time`` at which it is read; -1 if it is not read again."""
        return max((t for t in self.reads if t > time), default=-1)

    def written_after(self, time: int) -> float:
        """The first time after ``time`` at which it is written; infinity if it is not written again."""
        return min((t for t in self.writes if t > time), default=inf)

    def join(self, other: BufferAccesses) -> None:
        """Add the accesses of ``other``."""
        self.reads += other.reads
        self.writes += other.writes


class BufferSharing:
    """The search, for one phase, for the buffer whose place each buffer takes: ``places``."""

    def __init__(self, buffers: list[Buffer], instructions: list[Instruction], layers: PartLayers) -> None:
        self.buffers = buffers
        self.instructions = instructions
        self.layers = layers
        self.places: dict[int, int] = {}
        self.accesses: dict[int, BufferAccesses] = {}
        for time, instruction in enumerate(instructions):
            read = {id(v) for v in read_only_views(instruction)}
            written = {id(v) for v in overwritten_views(instruction)}
            if not read and not written:
                # A collective has as many views as it has blocks, and may read and write all of them.
                for b in dict.fromkeys(owning_buffer(buffers, b) for b in instruction.buffers):
                    found = self.accesses.setdefault(b, BufferAccesses())
                    found.reads.append(time)
                    found.writes.append(time)
                continue
            for view in instruction.views:
                found = self.accesses.setdefault(owning_buffer(buffers, view.buffer), BufferAccesses())
                if id(view) not in written:
                    found.reads.append(time)
                if id(view) not in read:
                    found.writes.append(time)

    def find(self) -> dict[int, int]:
        """Let every buffer share that can, in the order of instructions; return each one's place (a buffer)."""
        for time, instruction in enumerate(self.instructions):
            for target, source, reuse, moved in self.offers(instruction):
                a = self.place(source)
                b = self.place(target)
                if a != b and self.alike(target, source, moved) and self.allowed(time, a, b, reuse):
                    self.places[b] = a
                    self.accesses[a].join(self.accesses[b])
        return {b: self.place(View(b, ())) for b in self.places}

    def place(self, view: View) -> int:
        """The buffer in whose place a view lies."""
        b = owning_buffer(self.buffers, view.buffer)
        while b in self.places:
            b = self.places[b]
        return b

    def offers(self, instruction: Instruction) -> Iterator[SharingOffer]:
        """The views that an instruction could make in the place of another view."""
        if isinstance(instruction, Copy):
            yield instruction.target, instruction.source, MemoryReuse.SAME, ()
        elif isinstance(instruction, Forward | Backward):
            layer = self.layers[instruction.micro, instruction.part]
            forward, backward = layer.reuse
            made, sources = (
                (instruction.y, instruction.x) if isinstance(instruction, Forward) else (instruction.dx, instruction.dy)
            )
            ahead = isinstance(instruction, Forward)
            reuse = forward if ahead else backward
            moved = layer.moved_axes if ahead else inverse_axes(layer.moved_axes)
            source = (*sources, None)[0]
            if reuse != MemoryReuse.NONE and source is not None:
                yield from ((target, source, reuse, moved) for target in made if target is not None)

    def alike(self, target: View, source: View, moved: Order = ()) -> bool:
        """True if both views are whole arena buffers of as many bytes, with their elements in the same order; ``moved``
        as in ``SharingOffer``."""
        a = self.buffers[source.buffer]
        b = self.buffers[target.buffer]
        entire = source.box == whole_region(a.shape) and target.box == whole_region(b.shape)
        if not entire or (a.kind, b.kind, a.dtype) != (ARENA, ARENA, b.dtype) or a.nbytes(4) != b.nbytes(4):
            return False
        if moved:
            return same_layout(b.shape, move_axes(a.order, moved, len(a.shape)), b.order)
        if a.shape == b.shape:
            return same_layout(a.shape, a.order, b.order)
        # A reshape keeps the order of elements only if both are row-major.
        return same_layout(a.shape, a.order, ()) and same_layout(b.shape, b.order, ())

    def allowed(self, time: int, source: int, target: int, reuse: MemoryReuse) -> bool:
        """True if ``target``, made at ``time``, may take the place of ``source``."""
        a = self.accesses[source]
        b = self.accesses[target]
        if b.first < time:
            return False
        if reuse == MemoryReuse.SAME:
            return b.written_after(time) > a.read_after(time) and a.written_after(time) > b.read_after(time)
        return a.last == time and a.reads.count(time) == 1 and time not in a.writes


def read_only_views(instruction: Instruction) -> Iterator[View]:
    """The views that an instruction reads and does not change. The ``reads`` of a Backward count as such, although they
    may contain ``aux``, which it may write."""
    if isinstance(instruction, Forward):
        yield from (v for v in (*instruction.x, *instruction.w) if v is not None)
    elif isinstance(instruction, Backward):
        yield from (v for v in (*instruction.dy, *instruction.x, *instruction.reads) if v is not None)
    elif isinstance(instruction, Copy | Accumulate | Send | AddSquares):
        yield instruction.source
    elif isinstance(instruction, Update):
        yield from instruction.gradients


def overwritten_views(instruction: Instruction) -> Iterator[View]:
    """The views that an instruction writes without having read them."""
    if isinstance(instruction, Forward):
        yield from instruction.y
    elif isinstance(instruction, Backward):
        adds = instruction.adds or (False,) * len(instruction.dx)
        made = (v for v, add in zip(instruction.dx, adds, strict=True) if not add)
        yield from (v for v in (*made, *instruction.dw) if v is not None)
    elif isinstance(instruction, Copy):
        yield instruction.target
