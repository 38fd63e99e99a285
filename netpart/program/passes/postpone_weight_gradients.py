"""Postponed weight gradients: a layer's backward in two halves, of which the second runs while a worker would wait.

    backward conv2 ───── backward norm1 ─ start sum ─ wait ─ backward moments1 ..
    backward conv2: dx ─ backward norm1 ─ start sum ─ backward conv2: dw ─ wait ─ backward moments1 ..

Messages that other workers wait for are sent earlier, and those that this worker waits for have more time to arrive.
Zero-bubble pipelines (Qi et al. 2023, arXiv:2401.10241) use the same two halves. Here the second half stays near its
layer, so only one layer's inputs and output gradient are held longer. No worker waits for sums of parameter gradients
before the end of the pass, so these keep their early positions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from math import prod

from netpart.program.arena import resolve_alias
from netpart.program.buffers import Buffer, View
from netpart.program.instructions import Backward, CollectiveStart, CollectiveWait, Instruction, Receive, Send, Way
from netpart.program.passes.buffer_sharing import PartLayers, read_only_views

BufferSpan = tuple[int, int, int]
"""A buffer with memory of its own, and the range of its elements: first, and one after the last."""


def postpone_weight_gradients(
    buffers: Sequence[Buffer], backward: Sequence[Instruction], layers: PartLayers
) -> list[Instruction]:
    """The instructions of a ``backward`` pass with weight gradients postponed.

    The last layer that can be split before each wait, and before the end of the pass, is split. Its parameters'
    gradients, with all instructions that touch them, move to just before that wait or end. They move only if a message
    that other workers wait for is sent in between.
    """
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
    """``instructions`` with each Backward split in two, if possible; the halves may run concurrently."""
    for instruction in instructions:
        if isinstance(instruction, Backward) and _can_split(instruction, layers):
            yield from _backward_halves(instruction)
        else:
            yield instruction


def _backward_halves(whole: Backward) -> tuple[Backward, Backward]:
    """Two instructions in place of ``whole``: one for the gradients of inputs, one for those of parameters."""
    without = (None,) * len(whole.dx)
    return replace(whole, dw=(None,) * len(whole.dw)), replace(whole, dx=without, adds=())


def _can_split(instruction: Backward, layers: PartLayers) -> bool:
    """True if an instruction computes gradients of inputs and of parameters, and can compute them separately."""
    both = any(instruction.dx) and any(instruction.dw)
    return both and layers[instruction.micro, instruction.part].splits_backward


def _postpone_in_run(buffers: Sequence[Buffer], run: Sequence[Instruction]) -> Sequence[Instruction]:
    """``run``, which begins with a Backward, with the second half of that moved to the end.

    Returns ``run`` itself if that sends no message earlier, or if the second half would read overwritten data.
    """
    whole = run[0]
    assert isinstance(whole, Backward)
    first, second = _backward_halves(whole)
    meanwhile = list[Instruction]()
    postponed = list[Instruction]([second])
    touched = _buffer_spans(buffers, (view.buffer for view in second.dw if view is not None))
    for instruction in run[1:]:
        of_it = _buffer_spans(buffers, instruction.buffers)
        # What touches a postponed instruction's data is postponed too, and so is all that touches its data in turn.
        if _spans_overlap(touched, of_it):
            postponed.append(instruction)
            touched |= of_it
        else:
            meanwhile.append(instruction)
    changed = _buffer_spans(buffers, (view.buffer for each in meanwhile for view in _written_views(each)))
    pays = any(map(_unblocks_others, meanwhile)) and not _spans_overlap(
        changed, _buffer_spans(buffers, (view.buffer for view in read_only_views(second)))
    )
    return [first, *meanwhile, *postponed] if pays else run


def _unblocks_others(instruction: Instruction) -> bool:
    """True if an instruction sends what other workers wait for during backward."""
    summed = isinstance(instruction, CollectiveStart) and instruction.channel.way != Way.BUCKET
    return summed or isinstance(instruction, Send)


def _written_views(instruction: Instruction) -> Iterator[View]:
    """The views that an instruction may write."""
    left = {id(view) for view in read_only_views(instruction)}
    yield from (view for view in instruction.views if id(view) not in left)


def _buffer_spans(buffers: Sequence[Buffer], touched: Iterable[int]) -> set[BufferSpan]:
    """The spans of the buffers ``touched``: a view counts as all of its buffer."""
    return {_buffer_span(buffers, b) for b in set(touched)}


def _buffer_span(buffers: Sequence[Buffer], b: int) -> BufferSpan:
    """The span of buffer ``b`` in the buffer with memory of its own."""
    owner, start = resolve_alias(buffers, b)
    return owner, start, start + prod(buffers[b].shape)


def _spans_overlap(some: Iterable[BufferSpan], others: Collection[BufferSpan]) -> bool:
    """True if one of ``some`` has an element in common with one of the ``others``."""
    return any(a == b and lo < top and bottom < hi for a, lo, hi in some for b, bottom, top in others)
