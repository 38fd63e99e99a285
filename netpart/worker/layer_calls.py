"""LayerCalls: the arguments with which the layers of a phase compute, forward and then backward."""

from __future__ import annotations

from typing import Any

import numpy as np

from netpart.graph.graph import Part
from netpart.kernels.op import Array, Op
from netpart.layers.elementwise import ElementwiseActivation
from netpart.layers.layer import Layer
from netpart.layers.part import Call
from netpart.layers.rotary import Rotary
from netpart.program.instructions import PHASE_CODES, Backward, Forward
from netpart.program.program import Program
from netpart.spec import extent, relative_slices
from netpart.worker.machine import Machine, PhaseArrays


class LayerCalls:
    """The calls of the layers of ``program``, bound to ``arrays``; those of losses also to their sums in ``metrics``.

    A part must be bound forward before it is bound backward.
    """

    def __init__(self, machine: Machine, program: Program, arrays: PhaseArrays, metrics: Array) -> None:
        self.machine = machine
        self.program = program
        self.arrays = arrays
        self.metrics = metrics
        self.code = PHASE_CODES[program.phase]
        self.calls: dict[tuple[int, int], Call] = {}
        self.parts: dict[tuple[int, int], Part] = {}
        for m, micro in enumerate(program.micros):
            self.parts.update({(m, p.index): p for p in micro.graph.parts_of_worker(machine.program.worker)})

    def name(self, instruction: Forward | Backward) -> str:
        name = self.parts[instruction.micro, instruction.part].name
        other = instruction.then if isinstance(instruction, Forward) else instruction.first
        turned = instruction.turned if isinstance(instruction, Forward) else ()
        names = [name, *(self.parts[instruction.micro, part].name for part in turned if part >= 0)]
        return "+".join([*names, self.name(other)] if other else names)

    def forward(self, instruction: Forward) -> Op:
        call = self.call(instruction)
        if instruction.then is not None:
            following = self.layer(instruction.then)
            # Bound although it is not run by itself: the backward pass of what follows needs its call.
            then = self.call(instruction.then)
            if isinstance(following, ElementwiseActivation):
                call.activation = following.kind()
            else:
                call.addend = then.y[0]
        if instruction.turned:
            queries, keys = (self.angles(instruction.micro, part) for part in instruction.turned)
            call.turns = queries, keys
        return self.layer(instruction).forward(self.machine.kernels, call)

    def backward(self, instruction: Backward) -> Op:
        call = self.calls[instruction.micro, instruction.part]
        if instruction.x:
            arrays = map(self.array, instruction.x)
            # Forward may have used views that do not live until backward; the instruction names those that do.
            call.x = [was if now is None else now for was, now in zip(call.x, arrays, strict=True)]
        call.dy = [self.array(view) for view in instruction.dy]
        call.dx = [self.array(view) for view in instruction.dx]
        call.dw = [self.array(view) for view in instruction.dw]
        call.adds = instruction.adds
        call.through_activation = call.activation if instruction.first else None
        return self.layer(instruction).backward(self.machine.kernels, call)

    def angles(self, micro: int, part: int) -> Array:
        """The angles by which a rotation turns rows; None for part -1."""
        if part < 0:
            return None
        found = self.parts[micro, part]
        layer = self.program.micros[micro].graph.net.nodes[found.node].layer
        assert isinstance(layer, Rotary)
        return layer.angles(self.machine.kernels, found.region)

    def layer(self, instruction: Forward | Backward) -> Layer:
        """The layer that an instruction runs."""
        node = self.parts[instruction.micro, instruction.part].node
        return self.program.micros[instruction.micro].graph.net.nodes[node].layer

    def call(self, instruction: Forward) -> Call:
        """The arguments with which the part of an instruction computes, forward and then backward."""
        micro = self.program.micros[instruction.micro]
        part = self.parts[instruction.micro, instruction.part]
        layer = self.layer(instruction)
        needs = layer.needs(part.region, part.term)
        xs = zip(instruction.x, needs.inputs, layer.inputs, strict=True)
        call = Call(
            region=part.region,
            needs=needs,
            term=part.term,
            x=[self.array(view) if view else self.nothing(need, spec.rank) for view, need, spec in xs],
            w=[self.array(view) for view in instruction.w],
            y=[self.array(view) for view in instruction.y],
            aux=[self.array(view) for view in instruction.aux],
            metrics=self.metric_sums(instruction, len(layer.metrics)),
            owned=self.owned(part),
            rows=micro.graph.net.rows_of(layer, self.program.micros[-1].rows[1]),
            first_row=micro.rows[0],
            phase=self.code,
            seed=self.machine.seed,
            clock=self.machine.clock,
        )
        self.calls[instruction.micro, instruction.part] = call
        return call

    def array(self, view: Any) -> Array:
        return None if view is None else self.arrays(view)

    def nothing(self, need: Any, rank: int) -> Array:
        """An array without elements, for an input of which nothing is needed."""
        shape = (0,) * rank if need is None else tuple(max(0, hi - lo) for lo, hi in need)
        return self.machine.xp.empty(shape, self.machine.dtype)

    def metric_sums(self, instruction: Forward, count: int) -> Array:
        if instruction.metrics is None:
            return self.machine.xp.zeros(count, np.float64)
        return self.metrics[instruction.metrics : instruction.metrics + count]

    def owned(self, part: Part) -> Array:
        """Mask of the elements whose loss this part differentiates; None means all of them."""
        if part.owned is None:
            return None
        mask = np.zeros(extent(part.region), bool)
        for box in part.owned:
            mask[relative_slices(box, part.region)] = True
        return self.machine.xp.asarray(mask)
