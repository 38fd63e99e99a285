"""BufferTable: the growing table of a worker's buffers while its Programs are compiled."""

from __future__ import annotations

from netpart.program.buffers import ALIAS, ARENA, Buffer, Order, View, is_contiguous, same_layout
from netpart.spec import FLOAT, Shape, whole_region


class BufferTable:
    """The buffers of a worker, numbered in the order in which they are made; its methods return views of them."""

    def __init__(self) -> None:
        self.buffers: list[Buffer] = []

    def new(self, name: str, shape: Shape, dtype: str = FLOAT, kind: str = ARENA, order: Order = ()) -> View:
        """A view of all of a new buffer."""
        self.buffers.append(Buffer(name, shape, dtype, kind, order=order))
        return View(len(self.buffers) - 1, whole_region(shape))

    def alias(self, name: str, shape: Shape, parent: View, offset: int) -> View:
        """A view of ``shape`` that starts at element ``offset`` of the flat buffer of ``parent``."""
        dtype = self.buffers[parent.buffer].dtype
        self.buffers.append(Buffer(name, shape, dtype, ALIAS, parent.buffer, offset))
        return View(len(self.buffers) - 1, whole_region(shape))

    def contiguous(self, view: View, order: Order = ()) -> bool:
        """True if ``view`` is one run of memory in ``order``."""
        buffer = self.buffers[view.buffer]
        return same_layout(view.shape, buffer.order, order) and is_contiguous(view, buffer.shape, buffer.order)
