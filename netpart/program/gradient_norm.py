"""The squared norm of the gradient over all parameters: every worker sums its share, then an all-reduce adds these."""

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
"""Squares of float32 numbers can overflow float32, and a sum of many loses digits."""


class NormCompiler:
    """A compiler of one worker's part in ``norm``. ``total`` is the view of the squared norm."""

    def __init__(self, norm: GradientNorm, worker: int, memory: BufferTable, exchanges: ExchangeFactory) -> None:
        self.norm = norm
        self.worker = worker
        self.memory = memory
        self.exchanges = exchanges
        self.total = memory.new("squared norm", (1,), NORM_DTYPE)

    def start(self) -> Instruction:
        """The instruction that sets the sum to zero."""
        return Zero(self.total)

    def boxes(self, holding: Holding) -> list[Region]:
        """The boxes of a holding that this worker counts: each element of a parameter is counted by one worker."""
        mine = self.norm.counted[self.worker]
        return [c.box for c in mine if c.parameter.name == holding.parameter.name and contains(holding.box, c.box)]

    def count(self, gradient: View) -> Instruction:
        """The instruction that adds the squares of a gradient's elements."""
        return AddSquares(self.total, gradient)

    def agree(self, phase: int) -> list[Instruction]:
        """The instructions that add up the sums of all workers."""
        if len(self.norm.workers) == 1:
            return []
        channel = Channel(phase, Way.NORM, 0, 0)
        start: CollectiveStart = self.exchanges.in_place(
            self.total, self.norm.workers, self.worker, self.memory, channel, "norm of the gradient"
        )
        return [start, CollectiveWait(start)]
