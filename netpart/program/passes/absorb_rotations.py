"""Rotations of queries and keys that attention makes while it reads them.

forward turned      r q  w t           forward mix+turned    r q k v  w y
forward mix         r t k v  w y

backward mix        r dy t k v  w dt   backward mix          r dy q k v  w dq
backward turned     r dt  w dq
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from netpart.kernels.reference import Kernels
from netpart.layers.attention import Attention
from netpart.layers.rotary import Rotary
from netpart.program.buffers import View
from netpart.program.instructions import Backward, Forward, Instruction
from netpart.program.passes.buffer_sharing import PartLayers

INPUTS = 2
"""The inputs of attention that can be rotated: queries and keys."""


def absorb_rotations(instructions: list[Instruction], layers: PartLayers, kernels: type[Kernels]) -> list[Instruction]:
    """``instructions`` without the rotations that only an attention reads, if ``kernels`` rotate in attention."""
    if not kernels.turns_rows:
        return instructions
    absorber = RotationAbsorber(instructions, layers)
    for at, instruction in enumerate(instructions):
        if isinstance(instruction, Forward) and absorber.turns_inputs(instruction, kernels):
            for k in range(INPUTS):
                absorber.absorb(at, k)
    return [instruction for instruction in absorber.instructions if instruction is not None]


class RotationAbsorber:
    """The ``instructions`` of a phase, of which absorbed ones become None; ``users`` are the times at which a buffer is
    used."""

    def __init__(self, instructions: Sequence[Instruction], layers: PartLayers) -> None:
        self.instructions: list[Instruction | None] = list(instructions)
        self.layers = layers
        self.users: dict[int, set[int]] = {}
        self.runs = Counter((i.micro, i.part) for i in instructions if isinstance(i, Forward))
        for at, instruction in enumerate(instructions):
            for view in instruction.views:
                self.users.setdefault(view.buffer, set()).add(at)

    def turns_inputs(self, instruction: Forward, kernels: type[Kernels]) -> bool:
        """True for an attention that can rotate its inputs."""
        layer = self.layers[instruction.micro, instruction.part]
        return isinstance(layer, Attention) and layer.turns_inputs(kernels)

    def absorb(self, at: int, k: int) -> None:
        """Let the attention at time ``at`` rotate its input ``k``, if a rotation made that for it alone."""
        forward = self.instructions[at]
        assert isinstance(forward, Forward)
        view = forward.x[k]
        times = sorted(self.users[view.buffer]) if view else []
        if len(times) not in (2, 3) or times[1] != at or forward.x.count(view) > 1:
            return
        turn = self.instructions[times[0]]
        if not isinstance(turn, Forward) or turn.y != (view,) or not self.is_rotation(turn):
            return
        if self.is_repeated(forward) or self.is_repeated(turn):
            return
        back = self.instructions[times[2]] if len(times) > 2 else None
        if back is None or (self.is_backward(back, forward) and self.absorb_backward(times[2], k, turn)):
            turned = (*forward.turned, -1, -1)[:INPUTS]
            x, parts = _replaced(forward.x, k, turn.x[0]), (*turned[:k], turn.part, *turned[k + 1 :])
            self.instructions[at] = replace(forward, x=x, turned=parts)
            self.instructions[times[0]] = None

    def absorb_backward(self, at: int, k: int, turn: Forward) -> bool:
        """Let the backward of an attention at time ``at`` rotate the gradient of its input ``k`` back. False if it
        cannot."""
        back = self.instructions[at]
        assert isinstance(back, Backward)
        view = back.dx[k]
        if view is not None:
            after = next((t for t in sorted(self.users[view.buffer]) if t > at), at)
            rest = self.instructions[after]
            alone = self.users[view.buffer] == {at, after} and not any(back.adds)
            if not alone or not self.is_turned_back(rest, back, turn, view) or not self.unused_between(at, after):
                return False
            assert isinstance(rest, Backward)
            back = replace(back, dx=_replaced(back.dx, k, rest.dx[0]))
            self.instructions[after] = None
        self.instructions[at] = replace(back, x=_replaced(back.x, k, turn.x[0]))
        return True

    def is_repeated(self, instruction: Forward) -> bool:
        """True if the part of an instruction runs forward more than once: backward may read the outcome of either."""
        return self.runs[instruction.micro, instruction.part] > 1

    def is_rotation(self, instruction: Forward | Backward) -> bool:
        """True if an instruction runs a rotation."""
        return isinstance(self.layers[instruction.micro, instruction.part], Rotary)

    def is_backward(self, instruction: Instruction, forward: Forward) -> bool:
        """True if an instruction is the backward of ``forward``."""
        if not isinstance(instruction, Backward):
            return False
        return (instruction.micro, instruction.part) == (forward.micro, forward.part)

    def is_turned_back(self, rest: Instruction | None, back: Backward, turn: Forward, view: View) -> bool:
        """True if ``rest`` only rotates ``view``, which ``back`` makes, back."""
        if not isinstance(rest, Backward) or (rest.micro, rest.part) != (turn.micro, turn.part):
            return False
        return rest.dy == (view,) and not any(rest.adds) and rest.delay == back.delay

    def unused_between(self, at: int, after: int) -> bool:
        """True if what the instruction at time ``after`` writes is not used from time ``at`` on until then."""
        rest = self.instructions[after]
        assert isinstance(rest, Backward)
        used = (t for view in rest.dx if view for t in self.users[view.buffer])
        return not any(at <= t < after for t in used)


def _replaced(views: tuple[View | None, ...], k: int, view: View | None) -> tuple[View | None, ...]:
    """``views`` with another one at ``k``."""
    return (*views[:k], view, *views[k + 1 :])
