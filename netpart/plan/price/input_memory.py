"""Input memory: what the inputs of a worker keep besides the rows of the step, such as rows that are read ahead."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from netpart.layers.inputs.rows import RowInput
from netpart.program.instructions import Forward
from netpart.program.program import Program, WorkerProgram
from netpart.spec import Region


def input_bytes(program: WorkerProgram) -> int:
    """Bytes that the inputs of all phases of a worker keep until its end."""
    return sum(_kept_bytes(phase) for phase in program.phases.values())


def _kept_bytes(phase: Program) -> int:
    """Bytes that the inputs of a phase keep. Micro-batches of a layer share one reader."""
    read = defaultdict[RowInput, list[Region]](list)
    for each in phase.instructions:
        if isinstance(each, Forward):
            graph = phase.micros[each.micro].graph
            part = graph.part_at(each.part)
            layer = graph.net.nodes[part.node].layer
            if isinstance(layer, RowInput):
                read[layer].append(part.region)
    return sum(layer.kept_bytes(_stack_rows(regions)) for layer, regions in read.items())


def _stack_rows(regions: Sequence[Region]) -> Region:
    """A region with the rows of all ``regions``, one after another."""
    rows = sum(last - first for (first, last), *_ in regions)
    return ((0, rows), *regions[0][1:])
