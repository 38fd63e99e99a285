"""The squared norm of the gradient over all parameters: every worker adds up what falls to it, then all agree."""

from __future__ import annotations

from netpart.graph.holdings import Holding
from netpart.graph.passes.norm import GradientNorm
from netpart.program.buffer_table import BufferTable
from netpart.program.buffers import View
from netpart.program.collective_instructions import ExchangeFactory
from netpart.program.instructions import (
    AddSquares,
    Channel,
    CollectiveStart,
    CollectiveWait,
    Instruction,
    Way,
    Zero,
)
from netpart.spec import Region, contains

NORM_DTYPE = "float64"
"""Squares of float32 leave its range, and sums of many lose its digits."""


class NormCompiler:
    """Emits what ``norm`` asks of one worker. ``total`` is where the squared norm lies in the end."""

    def __init__(self, norm: GradientNorm, worker: int, memory: BufferTable, exchanges: ExchangeFactory) -> None:
        self.norm = norm
        self.worker = worker
        self.memory = memory
        self.exchanges = exchanges
        self.total = memory.new("squared norm", (1,), NORM_DTYPE)

    def start(self) -> Instruction:
        """Nothing is counted yet."""
        return Zero(self.total)

    def boxes(self, holding: Holding) -> list[Region]:
        """What of a holding this worker counts."""
        mine = self.norm.counted[self.worker]
        return [c.box for c in mine if c.parameter.name == holding.parameter.name and contains(holding.box, c.box)]

    def count(self, gradient: View) -> Instruction:
        """Counts the elements of a gradient."""
        return AddSquares(self.total, gradient)

    def agree(self, phase: int) -> list[Instruction]:
        """Adds up what all workers have counted."""
        if len(self.norm.workers) == 1:
            return []
        channel = Channel(phase, Way.NORM, 0, 0)
        start: CollectiveStart = self.exchanges.in_place(
            self.total, self.norm.workers, self.worker, self.memory, channel, "norm of the gradient"
        )
        return [start, CollectiveWait(start)]
