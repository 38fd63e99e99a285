"""Slots: device memory for values that change from step to step, of which one small launch writes many."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from netpart.kernels.op import Array

SLOTS_PER_LAUNCH = 128
"""Slots that one launch sets: the values are in its parameters, so that it reads no host memory later."""
StepFunction = Callable[[int], Sequence[float]]
"""Values of a step, of the same number in every step."""


@dataclass(frozen=True)
class SingleValue:
    """A StepFunction of one value."""

    value: Callable[[int], float]

    def __call__(self, step: int) -> tuple[float]:
        return (self.value(step),)


class SlotBlock:
    """The slots that one launch sets, and the functions that give their values.

    ``kernel`` is the kernel of slots.cu. The memory of the values and the arguments of the launch are made only once:
    a launch copies its parameters, so the next step may overwrite them.
    """

    def __init__(self, xp: Any, kernel: Any) -> None:
        self.kernel = kernel
        self.functions: list[StepFunction] = []
        self.used = 0
        self.memory = xp.zeros(SLOTS_PER_LAUNCH, np.float64)
        self.values = np.zeros(SLOTS_PER_LAUNCH, np.float64)
        # One element, as CuPy requires for a struct by value; of a plain type, because it describes fields at each
        # launch.
        self.args = self.memory, self.values.view(f"V{self.values.nbytes}").reshape(())

    def take(self, function: StepFunction, count: int) -> Array:
        """The slots of ``function``, which gives ``count`` values."""
        found = self.memory[self.used : self.used + count]
        self.functions.append(function)
        self.used += count
        return found

    def write(self, step: int) -> None:
        """Enqueue writing the values of ``step``."""
        self.values[: self.used] = [value for function in self.functions for value in function(step)]
        self.kernel((1,), (SLOTS_PER_LAUNCH,), self.args)


class StepSlots:
    """All slots of a device."""

    def __init__(self) -> None:
        self.blocks: list[SlotBlock] = []
        self.found: dict[StepFunction, Array] = {}
        self.written_step: int | None = None

    def find(self, function: StepFunction, count: int, make_block: Callable[[], SlotBlock]) -> Array:
        """Device memory (count,), float64, for the values of ``function``. Functions that are equal share it."""
        if function not in self.found:
            if not self.blocks or self.blocks[-1].used + count > SLOTS_PER_LAUNCH:
                self.blocks.append(make_block())
            self.found[function] = self.blocks[-1].take(function, count)
            self.written_step = None  # the next ``write`` has to set the new slots, even in the same step
        return self.found[function]

    def write(self, step: int) -> None:
        """Enqueue writing the values of ``step`` to all slots, unless they hold them already."""
        if step != self.written_step:
            self.written_step = step
            for block in self.blocks:
                block.write(step)
