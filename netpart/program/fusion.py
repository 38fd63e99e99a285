"""Fusion: an activation in the place of what it reads becomes part of the instruction before it.

forward conv   w x                 forward conv+relu   w x, then x
forward relu   r x  w y = x
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from netpart.graph.partition import Micro
from netpart.kernels.reference import Kernels
from netpart.layers.elementwise import Elementwise
from netpart.layers.layer import Layer
from netpart.program.instructions import Forward, Instruction


def fused(
    instructions: list[Instruction], micros: list[Micro], places: Mapping[int, int], kernels: type[Kernels]
) -> list[Instruction]:
    """``instructions`` with every activation fused that can be; ``places`` are those of Sharing."""
    if not kernels.fuses:
        return instructions
    found: list[Instruction] = []
    for instruction in instructions:
        before = found[-1] if found else None
        if isinstance(instruction, Forward) and isinstance(before, Forward) and before.then is None:
            follows = instruction.x == before.y[:1] and in_place(instruction, places)
            first, second = layer_of(before, micros), layer_of(instruction, micros)
            if follows and first.fuses and isinstance(second, Elementwise) and second.kind() in kernels.fuses:
                found[-1] = replace(before, then=instruction)
                continue
        found.append(instruction)
    return found


def in_place(instruction: Forward, places: Mapping[int, int]) -> bool:
    """True if what an instruction makes lies where its input does."""
    x, y = instruction.x[0], instruction.y[0]
    return x is not None and places.get(y.buffer, y.buffer) == places.get(x.buffer, x.buffer)


def layer_of(instruction: Forward, micros: list[Micro]) -> Layer:
    """The layer that an instruction runs."""
    graph = micros[instruction.micro].graph
    return graph.net.nodes[graph.parts[instruction.part].node].layer
