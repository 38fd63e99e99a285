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

from netpart.program.arena import resolve_alias
from netpart.program.buffers import Buffer, View
from netpart.program.instructions import Backward, CollectiveStart, CollectiveWait, Instruction, Receive, Send, Way
from netpart.program.passes.buffer_sharing import PartLayers, read_only_views

BufferSpan = tuple[int, int, int]
"""A buffer with memory of its own, and the elements of it from one to another."""


def postpone_weight_gradients(
    buffers: Sequence[Buffer], backward: Sequence[Instruction], layers: PartLayers
) -> list[Instruction]:
    """The instructions of a ``backward`` pass; of the last layer before each that waits, and before the end, the
    gradients of parameters come right before that, with all that is done to them, if something leaves for another
    worker in between."""
    found: list[Instruction] = []
    at: int | None = None
    for instruction in backward:
        if at is not None and isinstance(instruction, CollectiveWait | Receive):
            found[at:] = _postpone_in_run(buffers, found[at:])
            at = None
        if isinstance(instruction, Backward) and _can_split(instruction, layers):
            at = len(found)
        found.append(instruction)
    return found if at is None else [*found[:at], *_postpone_in_run(buffers, found[at:])]


def split_backward(instructions: Iterable[Instruction], layers: PartLayers) -> Iterator[Instruction]:
    """``instructions``, each Backward that can be as two, which may be done beside each other."""
    for instruction in instructions:
        if isinstance(instruction, Backward) and _can_split(instruction, layers):
            yield from _backward_halves(instruction)
        else:
            yield instruction


def _backward_halves(whole: Backward) -> tuple[Backward, Backward]:
    """The gradients of inputs, then those of parameters."""
    without = (None,) * len(whole.dx)
    return replace(whole, dw=(None,) * len(whole.dw)), replace(whole, dx=without, adds=())


def _can_split(instruction: Backward, layers: PartLayers) -> bool:
    """True if it makes gradients of both, inputs and parameters, and can make them apart."""
    both = any(instruction.dx) and any(instruction.dw)
    return both and layers[instruction.micro, instruction.part].splits_backward


def _postpone_in_run(buffers: Sequence[Buffer], run: Sequence[Instruction]) -> Sequence[Instruction]:
    """``run``, which begins with a Backward in halves, with the second half of it at the end; as it is if that makes
    nothing leave earlier, or if the second half would then read what is no longer there."""
    whole = run[0]
    assert isinstance(whole, Backward)
    first, second = _backward_halves(whole)
    meanwhile = list[Instruction]()
    behind = list[Instruction]([second])
    touched = _view_spans(buffers, (view for view in second.dw if view is not None))
    for instruction in run[1:]:
        of_it = _view_spans(buffers, instruction.views)
        if _spans_overlap(touched, of_it):
            behind.append(instruction)
            touched += of_it
        else:
            meanwhile.append(instruction)
    changed = _view_spans(buffers, (view for each in meanwhile for view in _written_views(each)))
    pays = any(map(_unblocks_others, meanwhile)) and not _spans_overlap(
        changed, _view_spans(buffers, read_only_views(second))
    )
    return [first, *meanwhile, *behind] if pays else run


def _unblocks_others(instruction: Instruction) -> bool:
    """True if it sends what others wait for before they go on with backward."""
    summed = isinstance(instruction, CollectiveStart) and instruction.channel.way != Way.BUCKET
    return summed or isinstance(instruction, Send)


def _written_views(instruction: Instruction) -> Iterator[View]:
    """The views that an instruction may write to."""
    left = {id(view) for view in read_only_views(instruction)}
    yield from (view for view in instruction.views if id(view) not in left)


def _view_spans(buffers: Sequence[Buffer], views: Iterable[View]) -> list[BufferSpan]:
    """Where ``views`` lie, each as all of its buffer."""
    return [_buffer_span(buffers, view.buffer) for view in views]


def _buffer_span(buffers: Sequence[Buffer], b: int) -> BufferSpan:
    """Where a buffer lies."""
    owner, start = resolve_alias(buffers, b)
    return owner, start, start + prod(buffers[b].shape)


def _spans_overlap(some: Iterable[BufferSpan], others: Sequence[BufferSpan]) -> bool:
    """True if one of ``some`` has an element in common with one of the ``others``."""
    return any(a == b and lo < top and bottom < hi for a, lo, hi in some for b, bottom, top in others)
