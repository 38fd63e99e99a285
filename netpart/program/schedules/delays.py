"""Delays: the earlier mini-batch that each part of a step is for, if stages train without waiting for each other.

A stage with delay d, counted from the loss, goes forward with mini-batch s in step s, and backward in step s + d, with
the weights that forward had. Then it updates them (equations 1 and 2 of Akintoye et al., A hybrid parallelization
approach for distributed and scalable deep learning, 2021, with i = d + 1):

    w[s + 1] = w[s] - γ · the gradient of mini-batch s at w[s - d]

    stage 0   F0    F1    F2 B0 F3 B1 F4 B2    d = 2: three versions of the weights are held, those of the mini-batches
    stage 1      F0    F1 B0 F2 B1 F3 B2       d = 1                                       between forward and backward
    stage 2         F0 B0 F1 B1 F2 B2          d = 0

So the instructions of a step are those of one mini-batch, and delayed ones run for the mini-batch that many steps
earlier. A buffer needs one copy for each mini-batch that is between the first and the last instruction to touch it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from netpart.choices import DELAYED
from netpart.graph.partition import Partition
from netpart.program.arena import owning_buffer
from netpart.program.buffers import Buffer
from netpart.program.instructions import Instruction
from netpart.program.schedules.schedule import schedule_order
from netpart.program.schedules.stages import StageGraph, TeamStage

BufferCopies = dict[int, int]
"""The number of mini-batches for which each buffer is held, if it is more than one."""


def parameter_delays(partition: Partition) -> dict[str, int]:
    """The mini-batches by which the update of each parameter is later than forward.

    This is the delay of the stage that reads it, or the greatest among the parameters that are updated together.
    """
    if schedule_order(partition.job) != DELAYED or "train" not in partition.phases:
        return {}
    graph = partition.graph
    found = dict[str, int]()
    stages = StageGraph(graph, delayed=True)
    for node in graph.net.nodes:
        delay = stages.delay(TeamStage(stages.levels[node.index], stages.team(node.index)))
        found.update({p.name: max(delay, found.get(p.name, 0)) for p in node.params})
    together = [[name for name in each if name in found] for each in _updated_together(partition)]
    return align_delays(found, together)


def _updated_together(partition: Partition) -> Iterator[Collection[str]]:
    """Parameters that are updated together: of a bucket, of a running variance and its mean, of a clipped norm."""
    yield from ([cell.parameter.name for cell in bucket.cells] for bucket in partition.buckets)
    for parameter in partition.parameters:
        if parameter.spec.running is not None and parameter.spec.running.mean:
            yield parameter.name, parameter.spec.running.mean
    if partition.norm is not None:
        yield partition.trained


def align_delays(delays: dict[str, int], together: Sequence[Collection[str]]) -> dict[str, int]:
    """``delays`` with the greatest delay of each group for all its members, also over groups that share members."""
    before = -1
    # Delays only grow, so their sum changes until every group is aligned.
    while before != (before := sum(delays.values())):
        for names in together:
            most = max((delays[name] for name in names), default=0)
            delays.update(dict.fromkeys(names, most))
    return delays


def count_buffer_copies(
    buffers: Sequence[Buffer], instructions: Sequence[Instruction], places: Mapping[int, int]
) -> BufferCopies:
    """The buffers of which each mini-batch in progress needs a copy of its own, and the number of copies.

    ``places``: buffer -> the buffer whose memory it uses.
    """
    if len({instruction.delay for instruction in instructions}) < 2:
        return {}
    touched: dict[int, set[int]] = {}
    for instruction in instructions:
        for view in instruction.views:
            b = owning_buffer(buffers, view.buffer)
            touched.setdefault(places.get(b, b), set()).add(instruction.delay)
    several = {b: max(delays) - min(delays) + 1 for b, delays in touched.items() if len(delays) > 1}
    return several | {b: several[place] for b, place in places.items() if place in several}
