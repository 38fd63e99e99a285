"""Halves: backward of a layer in two, and the gradients of its parameters while others are waited for.

    backward conv2 ───── backward norm1 ─ start sum ─ wait ─ backward moments1 ..
    backward conv2: dx ─ backward norm1 ─ start sum ─ backward conv2: dw ─ wait ─ backward moments1 ..

What others wait for leaves earlier, and what this worker waits for has that long to come. Zero-bubble pipelines
(Qi et al. 2023, arXiv:2401.10241) have the same two halves; here the second stays near its layer, so that no more is
held for longer than what one layer read and the gradient of what it made. Sums of gradients of parameters make nobody
wait before the end of the pass: they stay as early as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from math import prod

from netpart.program.arena import place
from netpart.program.buffers import Buffer, View
from netpart.program.instructions import Backward, CollectiveStart, CollectiveWait, Instruction, Receive, Send, Way
from netpart.program.passes.buffer_sharing import Layers, only_read

Span = tuple[int, int, int]
"""A buffer with memory of its own, and the elements of it from one to another."""


def halved(buffers: Sequence[Buffer], backward: Sequence[Instruction], layers: Layers) -> list[Instruction]:
    """The instructions of a ``backward`` pass; of the last layer before each that waits, and before the end, the
    gradients of parameters come right before that, with all that is done to them, if something leaves for another
    worker in between."""
    found: list[Instruction] = []
    at: int | None = None
    for instruction in backward:
        if at is not None and isinstance(instruction, CollectiveWait | Receive):
            found[at:], at = _parted(buffers, found[at:]), None
        if isinstance(instruction, Backward) and _in_halves(instruction, layers):
            at = len(found)
        found.append(instruction)
    return found if at is None else [*found[:at], *_parted(buffers, found[at:])]


def apart(instructions: Iterable[Instruction], layers: Layers) -> Iterator[Instruction]:
    """``instructions``, each Backward that can be as two, which may be done beside each other."""
    for instruction in instructions:
        if isinstance(instruction, Backward) and _in_halves(instruction, layers):
            yield from _halves(instruction)
        else:
            yield instruction


def _halves(whole: Backward) -> tuple[Backward, Backward]:
    """The gradients of inputs, then those of parameters."""
    without = (None,) * len(whole.dx)
    return replace(whole, dw=(None,) * len(whole.dw)), replace(whole, dx=without, adds=())


def _in_halves(instruction: Backward, layers: Layers) -> bool:
    """True if it makes gradients of both, inputs and parameters, and can make them apart."""
    both = any(instruction.dx) and any(instruction.dw)
    return both and layers[instruction.micro, instruction.part].halves


def _parted(buffers: Sequence[Buffer], run: Sequence[Instruction]) -> Sequence[Instruction]:
    """``run``, which begins with a Backward in halves, with the second half of it at the end; as it is if that makes
    nothing leave earlier, or if the second half would then read what is no longer there."""
    whole = run[0]
    assert isinstance(whole, Backward)
    first, second = _halves(whole)
    meanwhile, behind = list[Instruction](), list[Instruction]([second])
    touched = _spans(buffers, (view for view in second.dw if view is not None))
    for instruction in run[1:]:
        of_it = _spans(buffers, instruction.views)
        if _meet(touched, of_it):
            behind.append(instruction)
            touched += of_it
        else:
            meanwhile.append(instruction)
    changed = _spans(buffers, (view for each in meanwhile for view in _written(each)))
    pays = any(map(_leaves, meanwhile)) and not _meet(changed, _spans(buffers, only_read(second)))
    return [first, *meanwhile, *behind] if pays else run


def _leaves(instruction: Instruction) -> bool:
    """True if it sends what others wait for before they go on with backward."""
    summed = isinstance(instruction, CollectiveStart) and instruction.channel.way != Way.BUCKET
    return summed or isinstance(instruction, Send)


def _written(instruction: Instruction) -> Iterator[View]:
    """The views that an instruction may write to."""
    left = {id(view) for view in only_read(instruction)}
    yield from (view for view in instruction.views if id(view) not in left)


def _spans(buffers: Sequence[Buffer], views: Iterable[View]) -> list[Span]:
    """Where ``views`` lie, each as all of its buffer."""
    return [_span(buffers, view.buffer) for view in views]


def _span(buffers: Sequence[Buffer], b: int) -> Span:
    """Where a buffer lies."""
    owner, start = place(buffers, b)
    return owner, start, start + prod(buffers[b].shape)


def _meet(some: Iterable[Span], others: Sequence[Span]) -> bool:
    """True if one of ``some`` has an element in common with one of the ``others``."""
    return any(a == b and lo < top and bottom < hi for a, lo, hi in some for b, bottom, top in others)
