"""UpdateBinder: the rule that changes a parameter by its gradient, bound to the arrays of both."""

from __future__ import annotations

from collections.abc import Iterator

from netpart.kernels.op import Array, Op, chain_ops
from netpart.layers.layer import ParamSpec, RunningStatistic
from netpart.program.buffers import View
from netpart.program.instructions import Update
from netpart.program.program import Program
from netpart.spec import contains
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

    def update(self, holding: int, norm: View | None) -> Op:
        """The operation that updates this worker's part of a holding by its gradient.

        ``norm`` is the squared norm of all gradients, if they are clipped.
        """
        machine = self.machine
        program = self.machine.program
        gradient = program.gradients[holding]
        assert gradient is not None
        value = program.at_home(program.parameters[holding], holding)
        spec = self.spec(holding)
        w = self.arrays(value)
        g = self.arrays(program.at_home(gradient, holding))
        before = None if program.copies(value.buffer) == 1 else self.before(value)
        if spec.running is not None:
            return self.follow(spec.running, holding, w, g, before)
        assert machine.updater is not None
        scale = ParameterScale(spec.proto.lr_scale, spec.proto.wd_scale)
        state = list(machine.state[holding].values())
        op = machine.kernels.update(machine.updater, w, g, state, scale, machine.clock, norm and self.arrays(norm))
        # With several versions, the update works in place on a copy of the previous mini-batch's version.
        return op if before is None else chain_ops(machine.kernels.copy(w, before), op)

    def touched(self, update: Update) -> Iterator[MemorySpan]:
        """The memory that an update reads or writes, in addition to its norm."""
        program = self.machine.program
        held = update.holding
        value = program.at_home(program.parameters[held], held)
        gradient = program.gradients[held]
        assert gradient is not None
        running = self.spec(held).running
        read = [self.before(value), self.arrays(program.at_home(gradient, held))]
        read += [] if running is None or not running.mean else [self.arrays(self.centre(running, held))]
        yield from (memory_span(array, False) for array in read)
        yield from (memory_span(array, True) for array in (self.arrays(value), *self.machine.state[held].values()))

    def spec(self, holding: int) -> ParamSpec:
        return self.machine.program.holdings[holding].parameter.spec

    def follow(self, running: RunningStatistic, holding: int, w: Array, g: Array, before: Array | None) -> Op:
        """The operation that moves a running statistic by the moments of the mini-batch.

        Its old values are in ``before``, or in ``w`` if that is None.
        """
        if not running.mean:
            return self.machine.kernels.follow_mean(w, g, running.keep, before)
        centre = self.arrays(self.centre(running, holding))
        count = self.rows(holding) * running.elements
        return self.machine.kernels.follow_variance(w, g, centre, running.keep, count, before)

    def rows(self, holding: int) -> int:
        """Rows of a mini-batch as seen by the layer that owns a parameter."""
        net = self.program.micros[0].graph.net
        micro = self.program.micros[-1]
        name = self.machine.program.holdings[holding].parameter.name
        owner = next(p.owner for p in net.parameters if p.name == name)
        return net.rows_of(net.nodes[owner].layer, micro.rows[1])

    def centre(self, running: RunningStatistic, holding: int) -> View:
        """The view of the means to which the moments of a running variance are relative."""
        program = self.machine.program
        box = program.holdings[holding].box
        return next(
            gradient.crop(box, held.box)
            for held, gradient in zip(program.holdings, program.gradients, strict=True)
            if held.parameter.name == running.mean and gradient is not None and contains(held.box, box)
        )
