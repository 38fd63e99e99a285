"""Fusion of activations and sums that are computed in place: forward into the instruction before, backward into the
one after.

forward norm   w x                 forward norm+relu   w x, then x
forward relu   r x  w y = x

forward out    w x                 forward out+add     adds to y = r
forward add    r r x  w y = r

backward relu  r dy  w dx = dy     backward norm+relu  r dy
backward norm  r dx
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from netpart.kernels.reference import Kernels
from netpart.layers.add import Add
from netpart.layers.elementwise import ElementwiseActivation
from netpart.program.buffers import View
from netpart.program.instructions import Backward, Forward, Instruction
from netpart.program.passes.buffer_sharing import PartLayers


def fuse_sums(
    instructions: list[Instruction], layers: PartLayers, places: Mapping[int, int], kernels: type[Kernels]
) -> list[Instruction]:
    """``instructions`` with every sum fused that adds, in place, what the instruction before it makes for it alone."""
    used = Counter(b for i in instructions for b in {view.buffer for view in i.views}) if kernels.adds else Counter()
    found: list[Instruction] = []
    for instruction in instructions:
        before = found[-1] if found else None
        if isinstance(instruction, Forward) and isinstance(before, Forward) and used[before.y[0].buffer] == 2:
            first, second = (layers[i.micro, i.part] for i in (before, instruction))
            plain = isinstance(second, Add) and first.output_verb in kernels.adds
            if plain and _adds_in_place(before, instruction, places):
                found[-1] = replace(before, then=instruction)
                continue
        found.append(instruction)
    return found


def fuse_activations(
    instructions: list[Instruction], layers: PartLayers, places: Mapping[int, int], kernels: type[Kernels]
) -> list[Instruction]:
    """``instructions`` with every activation fused that can be; ``places`` are those that ``BufferSharing`` found."""
    found = _fuse_forward(instructions, layers, places, kernels) if kernels.fuses else instructions
    return _fuse_backward(found, layers, places, kernels) if kernels.fuses_back else found


def _fuse_forward(
    instructions: list[Instruction], layers: PartLayers, places: Mapping[int, int], kernels: type[Kernels]
) -> list[Instruction]:
    """``instructions`` with activations fused in the forward pass."""
    found: list[Instruction] = []
    for instruction in instructions:
        before = found[-1] if found else None
        if isinstance(instruction, Forward) and isinstance(before, Forward) and before.then is None:
            follows = instruction.x == before.y[:1] and _makes_in_place(instruction, places)
            first, second = (layers[i.micro, i.part] for i in (before, instruction))
            if (
                follows
                and first.fuses_activation
                and isinstance(second, ElementwiseActivation)
                and second.kind() in kernels.fuses
            ):
                found[-1] = replace(before, then=instruction)
                continue
        found.append(instruction)
    return found


def _fuse_backward(
    instructions: list[Instruction], layers: PartLayers, places: Mapping[int, int], kernels: type[Kernels]
) -> list[Instruction]:
    """``instructions`` with those activations fused in the backward pass that were fused in the forward pass."""
    then = {(i.micro, i.then.part): i.part for i in instructions if isinstance(i, Forward) and i.then}
    found: list[Instruction] = []
    for instruction in instructions:
        before = found[-1] if found else None
        if isinstance(instruction, Backward) and isinstance(before, Backward):
            follows = (
                instruction.dy == before.dx and instruction.delay == before.delay and _gradient_in_place(before, places)
            )
            pair = instruction.micro == before.micro and instruction.part == then.get((before.micro, before.part))
            first, second = (layers[i.micro, i.part] for i in (before, instruction))
            kind = first.kind() if isinstance(first, ElementwiseActivation) else ""
            if follows and pair and second.fuses_back and kind in kernels.fuses_back:
                found[-1] = replace(instruction, dy=before.dy, first=before)
                continue
        found.append(instruction)
    return found


def _adds_in_place(before: Forward, total: Forward, places: Mapping[int, int]) -> bool:
    """True if ``total`` does nothing but add what ``before`` makes to the first of its two inputs, in its place."""
    alone = before.then is None and total.then is None and total.x[1:] == before.y
    alike = all(view is not None and view.shape == total.y[0].shape for view in total.x)
    return alone and alike and _makes_in_place(total, places)


def _makes_in_place(instruction: Forward, places: Mapping[int, int]) -> bool:
    """True if the output of an instruction has the place of its input."""
    return _share_place(instruction.x[0], instruction.y[0], places)


def _gradient_in_place(instruction: Backward, places: Mapping[int, int]) -> bool:
    """True if the gradient that an instruction makes has the place of the one that it reads."""
    return not any(instruction.adds) and _share_place(instruction.dy[0], instruction.dx[0], places)


def _share_place(a: View | None, b: View | None, places: Mapping[int, int]) -> bool:
    """True if two views are of buffers in one place."""
    return a is not None and b is not None and places.get(a.buffer, a.buffer) == places.get(b.buffer, b.buffer)
