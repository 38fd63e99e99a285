"""Group averaging: the parameters of one worker become the mean over the groups, while its steps go on.

    parameters at the start  ──copy──▶ total ──all-reduce during the steps──▶ sum over the groups
    parameters at the end    = their mean + their change since the start

This is what a group adds to a common model in local SGD with a late average (Wang et al., "Overlap Local-SGD",
arXiv:2002.09539; Shen et al., "CoCoD-SGD", arXiv:1906.12043). Where nothing has changed since the start, it is exactly
the mean.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from netpart.kernels.op import Array, chain_ops
from netpart.program.group_average import AVERAGE, averaging_exchange
from netpart.program.messages.wire_memory import messages_ahead
from netpart.worker.actions import RunningCollective
from netpart.worker.collective_progress import CollectiveProgress
from netpart.worker.player import Player
from netpart.worker.wait_reasons import WaitReason

if TYPE_CHECKING:
    from netpart.proto.cluster import Cluster
    from netpart.transport.transport import Transport


class GroupAveraging:
    """Sum over the groups of arrays shaped like the parameters of ``player``, which is ``rank`` of ``cluster``.

    One average is in flight at a time: ``start`` holds its initial values, and ``total`` becomes the sum. All groups
    must begin the same averages in the same order. ``nbytes`` is the memory that it takes in addition to the
    parameters, including that of arriving messages.
    """

    def __init__(self, player: Player, transport: Transport, cluster: Cluster, rank: int) -> None:
        self.player = player
        machine = player.machine
        self.shapes = [player.parameters.values(h).shape for h in range(len(player.program.holdings))]
        elements = sum(map(prod, self.shapes))
        dtype = machine.dtype
        self.start, self.total = (machine.xp.empty(elements, dtype) for _ in range(2))
        found = averaging_exchange(cluster, rank, elements, np.dtype(dtype).itemsize)
        blocks = [None if box is None else self.total[slice(*box[0])] for box in found.blocks]
        pack = machine.xp.empty(found.largest.get(found.place(rank), 0), dtype)
        progress = CollectiveProgress(
            found.schedule, found.place(rank), found.sizes, blocks, blocks, pack, machine.kernels
        )
        channels = {index: AVERAGE._replace(chunk=index) for index in range(len(found.schedule))}
        for place, index, shape in progress.messages:
            transport.expect(channels[index], found.members[place], shape, dtype, messages_ahead(found))
        arriving = sum(prod(shape) for _, _, shape in progress.messages) * messages_ahead(found)
        self.nbytes = int(self.start.nbytes + self.total.nbytes + pack.nbytes + arriving * self.total.itemsize)
        self.running = RunningCollective("average of the groups", progress, channels, found.members)
        self.begun = 0

    def of(self, arrays: Sequence[Array]) -> GroupAverage:
        """The average of ``arrays``."""
        return GroupAverage(self, arrays)

    def parts(self, flat: Array) -> list[Any]:
        """Flat memory as arrays of the shapes of the parameters."""
        ends = np.cumsum([0, *map(prod, self.shapes)])
        return [flat[lo:hi].reshape(shape) for lo, hi, shape in zip(ends[:-1], ends[1:], self.shapes, strict=True)]


class GroupAverage:
    """``arrays`` that become their mean over the groups. Everything that this needs is bound here."""

    def __init__(self, averaging: GroupAveraging, arrays: Sequence[Array]) -> None:
        self.averaging = averaging
        kernels = averaging.player.machine.kernels
        start = averaging.start
        total = averaging.total
        groups = len(averaging.running.members)
        each = list(zip(arrays, averaging.parts(total), averaging.parts(start), strict=True))
        self._keep = chain_ops(*(kernels.copy(was, now) for now, _, was in each), kernels.copy(total, start)).run
        self._bring_in = chain_ops(*(kernels.bring_in(now, mean, was, groups) for now, mean, was in each)).run

    def begin(self) -> None:
        """Begin an average; ``arrays`` may change meanwhile."""
        averaging = self.averaging
        # The all-reduce works in place on ``total``; ``start`` keeps the values from which the later change is
        # measured.
        self._keep()
        averaging.player.collectives.start(averaging.running, averaging.begun)
        averaging.begun += 1

    def finish(self) -> Iterator[WaitReason]:
        """Wait until all groups have begun, and bring the mean into ``arrays``."""
        yield from self.averaging.player.collectives.complete(self.averaging.running, "train")
        self._bring_in()
