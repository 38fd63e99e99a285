"""UpdateBinder: the rule that changes a parameter by its gradient, bound to the arrays of both."""

from __future__ import annotations

from collections.abc import Iterator

from netpart.kernels.op import Array, Op, chain_ops
from netpart.layers.layer import ParamSpec, RunningStatistic
from netpart.program.instructions import Update
from netpart.program.program import Program
from netpart.updaters import ParameterScale
from netpart.worker.machine import Machine, PhaseArrays
from netpart.worker.memory_access import MemorySpan, memory_span


class UpdateBinder:
    """The updates of ``program``. They read the values in ``before``, those of the previous mini-batch, and write those
    in ``arrays``."""

    def __init__(self, machine: Machine, program: Program, arrays: PhaseArrays, before: PhaseArrays) -> None:
        self.machine = machine
        self.program = program
        self.arrays = arrays
        self.before = before

    def update(self, instruction: Update) -> Op:
        """The operation of ``instruction``."""
        machine = self.machine
        spec = self.spec(instruction.holding)
        w, norm = self.arrays(instruction.value), instruction.norm
        g, *centre = map(self.arrays, instruction.gradients)
        versions = machine.program.copies(instruction.value.buffer)
        before = None if versions == 1 else self.before(instruction.value)
        if spec.running is not None:
            return self.follow(spec.running, instruction.holding, w, g, before, *centre)
        assert machine.updater is not None
        scale = ParameterScale(spec.proto.lr_scale, spec.proto.wd_scale)
        rows = slice(*instruction.rows or (None,))
        state = [array[rows] for array in machine.state[instruction.holding].values()]
        op = machine.kernels.update(machine.updater, w, g, state, scale, machine.clock, norm and self.arrays(norm))
        # With several versions, the update works in place on a copy of the previous mini-batch's version.
        return op if before is None else chain_ops(machine.kernels.copy(w, before), op)

    def touched(self, update: Update) -> Iterator[MemorySpan]:
        """The memory that an update reads or writes, in addition to its views."""
        yield memory_span(self.before(update.value), False)
        yield from (memory_span(array, True) for array in self.machine.state[update.holding].values())

    def spec(self, holding: int) -> ParamSpec:
        return self.machine.program.holdings[holding].parameter.spec

    def follow(
        self, running: RunningStatistic, holding: int, w: Array, g: Array, before: Array | None, centre: Array = None
    ) -> Op:
        """The operation that moves a running statistic by the moments of the mini-batch.

        Its old values are in ``before``, or in ``w`` if that is None. The moments of a running variance are relative to
        the means ``centre``.
        """
        if not running.mean:
            return self.machine.kernels.follow_mean(w, g, running.keep, before)
        count = self.rows(holding) * running.elements
        return self.machine.kernels.follow_variance(w, g, centre, running.keep, count, before)

    def rows(self, holding: int) -> int:
        """Rows of a mini-batch as seen by the layer that owns a parameter."""
        net = self.program.micros[0].graph.net
        micro = self.program.micros[-1]
        name = self.machine.program.holdings[holding].parameter.name
        owner = next(p.owner for p in net.parameters if p.name == name)
        return net.rows_of(net.nodes[owner].layer, micro.rows[1])
