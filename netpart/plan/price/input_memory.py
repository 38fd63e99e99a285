"""Input memory: what the inputs of a worker keep besides the rows of the step, such as rows that are read ahead."""

from __future__ import annotations

from netpart.layers.inputs.rows import RowInput
from netpart.program.instructions import Forward
from netpart.program.program import Program, WorkerProgram


def input_bytes(program: WorkerProgram) -> int:
    """Bytes that the inputs of all phases of a worker keep until its end."""
    return sum(_kept_bytes(phase) for phase in program.phases.values())


def _kept_bytes(phase: Program) -> int:
    """Bytes that the inputs of a phase keep."""
    found = 0
    for each in phase.instructions:
        if isinstance(each, Forward):
            graph = phase.micros[each.micro].graph
            part = graph.part_at(each.part)
            layer = graph.net.nodes[part.node].layer
            found += layer.kept_bytes(part.region) if isinstance(layer, RowInput) else 0
    return found
