"""Gradients of large weights in strips: each strip is made and used for its update before the next, in the same memory.

    backward fc6     │ update fc6/weight │ update fc6/bias
    backward fc6: dx │ dw 0:110 │ update 0:110 │ dw 110:220 │ update 110:220 │ ... │ update fc6/bias

The gradient never exists as a whole, and the update finds it in the cache. A strip is some outputs of the layer, which
are rows of its weights.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise, takewhile
from math import ceil

from netpart.program.arena import owning_buffer
from netpart.program.buffer_table import BufferTable
from netpart.program.buffers import ARENA, View
from netpart.program.instructions import Backward, Instruction, Update
from netpart.program.passes.buffer_sharing import PartLayers

LEAST = 8 << 20
"""The least bytes of a gradient that is cut."""
STRIP = 4 << 20
"""The most bytes of a strip: it fits a cache together with its part of the weights and of the updater's state."""
MOST_STRIPS = 64
"""The most strips of a gradient. More save little memory, and a plan of GPT-3 would have 340 000 instructions."""

RowRange = tuple[int, int]


class GradientStrips:
    """The pass, for one list of the instructions of a phase: the buffers of another list may be gone."""

    def __init__(self, memory: BufferTable, layers: PartLayers, width: int) -> None:
        self.memory = memory
        self.layers = layers
        self.width = width
        self.places: dict[int, View] = {}

    def cut(self, instructions: Sequence[Instruction]) -> list[Instruction]:
        """``instructions`` with each gradient in strips that is large, and that one Update alone reads."""
        buffers = self.memory.buffers
        touched = Counter(owning_buffer(buffers, b) for each in instructions for b in each.buffers)
        found: list[Instruction] = []
        cut: set[int] = set()
        for at, each in enumerate(instructions):
            update = self._update_of(instructions, at, touched)
            if isinstance(each, Backward) and update is not None:
                cut.add(id(update))
                found += self._stripped(each, update)
            elif id(each) not in cut:
                found.append(each)
        return found

    def _update_of(self, instructions: Sequence[Instruction], at: int, touched: Counter[int]) -> Update | None:
        """The Update of the gradient of weights that instruction ``at`` makes, if it may be cut into strips."""
        backward = instructions[at]
        if not isinstance(backward, Backward) or backward.delay or not backward.dw:
            return None
        gradient = backward.dw[0]
        strips = self.layers[backward.micro, backward.part].strips_gradients()
        if gradient is None or not strips or not self._is_large(gradient, touched):
            return None
        updates = takewhile(lambda each: isinstance(each, Update), instructions[at + 1 :])
        return next((each for each in updates if isinstance(each, Update) and _updates_all(each, gradient)), None)

    def _is_large(self, view: View, touched: Counter[int]) -> bool:
        """True if ``view`` is a large buffer that two instructions touch: the one that makes it, and one more."""
        buffer = self.memory.buffers[view.buffer]
        whole = buffer.kind == ARENA and view.shape == buffer.shape and not buffer.order
        return whole and touched[view.buffer] == 2 and buffer.nbytes(self.width) >= LEAST

    def _stripped(self, backward: Backward, update: Update) -> Iterator[Instruction]:
        """The instructions in place of both."""
        if any(backward.dx):
            yield replace(backward, dw=(None,) * len(backward.dw))
        weights, *others = backward.dw
        assert weights is not None
        for rows in _even_rows(weights.shape[0], self._most_rows(weights)):
            gradient = self._place(weights).crop(((0, rows[1] - rows[0]), *weights.box[1:]), self._place(weights).box)
            made = gradient, *(view and _first_axis(view, rows) for view in others)
            dy = tuple(view and _last_axis(view, rows) for view in backward.dy)
            yield replace(backward, dy=dy, dx=(None,) * len(backward.dx), adds=(), dw=made, rows=rows)
            yield replace(update, value=_first_axis(update.value, rows), gradients=(gradient,), rows=rows)

    def _most_rows(self, weights: View) -> int:
        """The most rows of a strip of ``weights``."""
        row = self.memory.buffers[weights.buffer].nbytes(self.width) // weights.shape[0]
        return most_rows(weights.shape[0], row)

    def _place(self, weights: View) -> View:
        """The memory of all strips of a gradient."""
        if weights.buffer not in self.places:
            buffer = self.memory.buffers[weights.buffer]
            rows = max(hi - lo for lo, hi in _even_rows(weights.shape[0], self._most_rows(weights)))
            self.places[weights.buffer] = self.memory.new(buffer.name, (rows, *weights.shape[1:]), buffer.dtype)
        return self.places[weights.buffer]


def most_rows(extent: int, row_bytes: int) -> int:
    """The most rows of a strip of ``extent`` rows: of STRIP bytes, or as few as make MOST_STRIPS strips."""
    return max(STRIP // row_bytes, ceil(extent / MOST_STRIPS))


def _updates_all(update: Update, gradient: View) -> bool:
    """True if ``update`` reads ``gradient`` alone, and changes a value of the same shape."""
    alone = update.gradients == (gradient,) and update.norm is None and not update.delay
    return alone and update.value.shape == gradient.shape


def _even_rows(extent: int, most: int) -> list[RowRange]:
    """Cut ``extent`` into ranges of at most ``most`` whose lengths differ by at most 1."""
    parts = ceil(extent / most)
    return list(pairwise(extent * part // parts for part in range(parts + 1)))


def _first_axis(view: View, rows: RowRange) -> View:
    """Rows ``rows`` of a view."""
    start = view.box[0][0]
    return replace(view, box=((start + rows[0], start + rows[1]), *view.box[1:]))


def _last_axis(view: View, rows: RowRange) -> View:
    """Elements ``rows`` of the last axis of a view."""
    start = view.box[-1][0]
    return replace(view, box=(*view.box[:-1], (start + rows[0], start + rows[1])))
