"""PricedBinder: binds what computes to nothing, and messages without moving what they carry.

So a program can be played whose data are elsewhere, and no kernel is made for it.
"""

from __future__ import annotations

from collections.abc import Callable

from netpart.kernels.arrays import Arrays
from netpart.kernels.op import Array, Op
from netpart.kernels.verbs import NOTHING
from netpart.program.instructions import (
    Accumulate,
    AddSquares,
    Backward,
    CollectiveStart,
    CollectiveWait,
    Copy,
    Forward,
    Instruction,
    Receive,
    Send,
    Update,
    Zero,
)  # fmt: skip
from netpart.worker.actions import RUN, Action
from netpart.worker.bind import PhaseBinder

VERBS: dict[type[Instruction], str] = {
    Forward: "forward", Backward: "backward", Zero: "zero", Copy: "copy", Accumulate: "add",
    AddSquares: "add squares", Update: "update",
}  # fmt: skip


class _OmittedCopies(Arrays):
    """Arrays whose copies and takes do nothing."""

    def copy(self, dst: Array, src: Array) -> Op:
        """Leave dst as it is."""
        return NOTHING

    def take(self, dst: Array, own: Array | None = None, start: int | None = None) -> Callable[[Array], None]:
        """A function that leaves dst as it is."""
        return _omit_array


class PricedBinder(PhaseBinder):
    """Binder of a phase of a simulation that computes nothing."""

    @property
    def message_verbs(self) -> Arrays:
        """Verbs that leave messages where they are."""
        return _OmittedCopies(self.machine.xp, self.kernels.dtype)

    def bound(self, instruction: Instruction) -> Action:
        if isinstance(instruction, Send | Receive | CollectiveStart | CollectiveWait):
            return super().bound(instruction)
        return Action(RUN, self._name(instruction), run=omit_work)

    def _name(self, instruction: Instruction) -> str:
        """The verb and the object of an instruction, as in a run."""
        verb = VERBS[type(instruction)]
        if isinstance(instruction, Forward | Backward):
            return f"{verb} {self.layers.name(instruction)}"
        if isinstance(instruction, Update):
            return f"{verb} {self.machine.program.holdings[instruction.holding].parameter.name}"
        return verb


def _omit_array(array: Array) -> None:
    """Take a message without copying it."""


def omit_work() -> None:
    """Compute nothing."""
