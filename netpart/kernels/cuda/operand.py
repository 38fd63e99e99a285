"""Operands of libraries: arrays or scratch memory of an Op, with address, extents and steps."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from netpart.kernels.cuda.launch import LaunchScratch
from netpart.kernels.op import Array

ScratchMemory = dict[LaunchScratch, Array]
"""The memory of an Op's scratch during a run."""
ALIGNED = 256
"""The alignment of a library's workspace in bytes, the same as that of CUDA's allocations."""


class Operand(NamedTuple):
    """``base`` from element ``offset`` on, in any ``shape``; ``steps``: elements between neighbours on each axis."""

    base: Array | LaunchScratch
    shape: tuple[int, ...]
    steps: tuple[int, ...]
    offset: int = 0

    @classmethod
    def of(cls, base: Array | LaunchScratch | Operand) -> Operand:
        """The operand of an array, in its order, or of scratch, in row-major order."""
        if isinstance(base, Operand):
            return base
        if isinstance(base, LaunchScratch):
            return cls(base, base.shape, row_major_steps(base.shape))
        return cls(base, base.shape, tuple(step // base.itemsize for step in base.strides))

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of an element."""
        found: np.dtype[Any] = np.dtype(self.base.dtype)
        return found

    @property
    def turned(self) -> Operand:
        """The operand with the last two axes swapped."""
        *lead, a, b = range(len(self.shape))
        order = *lead, b, a
        return self._replace(shape=tuple(self.shape[i] for i in order), steps=tuple(self.steps[i] for i in order))

    def part(self, i: int) -> Operand:
        """Element ``i`` of the first axis."""
        return Operand(self.base, self.shape[1:], self.steps[1:], self.offset + i * self.steps[0])

    def seen(self, shape: tuple[int, ...], steps: tuple[int, ...], offset: int = 0) -> Operand:
        """The same memory in another shape, from ``offset`` elements further on."""
        return Operand(self.base, shape, steps, self.offset + offset)

    def address(self, memory: ScratchMemory) -> int:
        """The address of the first element."""
        return operand_address(self.base, memory) + self.offset * self.dtype.itemsize


def operand_address(base: Array | LaunchScratch, memory: ScratchMemory) -> int:
    """The address of an array, or of the memory of scratch during a run."""
    return int((memory[base] if isinstance(base, LaunchScratch) else base).data.ptr)


def align_workspace(address: int) -> int:
    """The first multiple of ALIGNED from ``address`` on."""
    return -(-address // ALIGNED) * ALIGNED


def row_major_steps(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The steps of a contiguous array."""
    steps, step = [], 1
    for length in reversed(shape):
        steps.append(step)
        step *= max(1, length)
    return tuple(reversed(steps))


def needed_scratch(*bases: Array | LaunchScratch | None) -> dict[int, LaunchScratch]:
    """The scratch among ``bases``, by index: the ``scratch`` of a Launchable."""
    return {i: base for i, base in enumerate(bases) if isinstance(base, LaunchScratch)}
