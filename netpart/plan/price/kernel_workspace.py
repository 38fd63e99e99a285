"""Kernel workspace: the scratch memory that a worker's kernels need, found by binding them to arrays without contents.

All kernels of a worker run one after another and share one workspace, as large as the largest need among them. An
array without contents takes address space, but no memory; so do those that are bound here, one part at a time.
"""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress

import numpy as np

from netpart.errors import NetpartError
from netpart.graph.graph import Part
from netpart.kernels.op import Clock, op_scratch_bytes
from netpart.kernels.reference import Kernels
from netpart.plan.timings.part_call import PartCall, backward_passes
from netpart.plan.timings.part_question import PartQuestion
from netpart.program.instructions import AddSquares, Backward, Forward, Update
from netpart.program.memory_orders import order_for_shape
from netpart.program.program import Program, WorkerProgram
from netpart.proto.job_pb2 import JobProto
from netpart.updaters import ParameterScale, Updater, build_updater

Needed = dict[tuple[object, ...], int]
_NEEDED: Needed = {}
"""Bytes by all that they depend on: parts of one shape are alike, on any worker."""


def workspace_bytes(program: WorkerProgram, job: JobProto) -> int:
    """Bytes of the workspace of a worker of ``job``. 0 on a GPU, whose libraries choose it when they are used."""
    if program.kernels.runs_on != "cpu":
        return 0
    kernels = program.kernels(np, np.float64 if program.float_size == 8 else np.float32, program.precision)
    updater = build_updater(job.updater)
    found = [_phase_bytes(program, phase, kernels) for phase in program.phases.values()]
    found += [_update_bytes(program, phase, kernels, updater) for phase in program.phases.values()]
    return max(found, default=0)


def _phase_bytes(program: WorkerProgram, phase: Program, kernels: Kernels) -> int:
    """The largest need of a layer in a phase."""
    wanted: dict[tuple[int, int], list[Backward]] = defaultdict(list)
    for each in phase.instructions:
        if isinstance(each, Backward):
            wanted[each.micro, each.part] += [each, *([each.first] if each.first else [])]
    forwards = [each for each in phase.instructions if isinstance(each, Forward)]
    forwards += [each.then for each in forwards if each.then is not None]
    needs = (_forward_bytes(program, phase, each, wanted[each.micro, each.part], kernels) for each in forwards)
    return max(needs, default=0)


def _forward_bytes(
    program: WorkerProgram, phase: Program, forward: Forward, backward: list[Backward], kernels: Kernels
) -> int:
    """The need of one part, forward and backward."""
    graph = phase.micros[forward.micro].graph
    part: Part = graph.parts[forward.part]
    layer = graph.net.nodes[part.node].layer
    order = order_for_shape(program.buffers[forward.y[0].buffer].order, layer.output.shape)
    inputs = range(len(layer.inputs))
    wanted = tuple(any(k < len(each.dx) and each.dx[k] is not None for each in backward) for k in inputs)
    trains = any(view is not None for each in backward for view in each.dw)
    question = PartQuestion(layer, part.region, part.term, order, wanted, trains)
    return _part_bytes(question, kernels) if question.can_be_called else 0


def _part_bytes(question: PartQuestion, kernels: Kernels) -> int:
    """The largest scratch of the calls of a part."""
    key = question.text, type(kernels), str(kernels.dtype)
    if key not in _NEEDED:
        _NEEDED[key] = 0
        # What cannot be bound here is left out, and refused when it runs.
        with suppress(MemoryError, NetpartError):
            call = PartCall(question, kernels, drawn=False)
            _NEEDED[key] = op_scratch_bytes(call.forward())
            for which in backward_passes(question):
                _NEEDED[key] = max(_NEEDED[key], op_scratch_bytes(call.backward(which)))
    return _NEEDED[key]


def _update_bytes(program: WorkerProgram, phase: Program, kernels: Kernels, updater: Updater) -> int:
    """The largest need of an update, or of a square of gradients, in a phase."""
    found = 0
    for each in phase.in_turn:
        if isinstance(each, Update):
            holding = program.holdings[each.holding]
            shape = tuple(hi - lo for lo, hi in holding.home)
            if holding.parameter.spec.running is None:
                found = max(found, _updater_bytes(shape, each.norm is not None, kernels, updater))
            else:
                found = max(found, op_scratch_bytes(kernels.follow_mean(*_empty_arrays(shape, 2, kernels), 0.9)))
        elif isinstance(each, AddSquares):
            source = np.empty(each.source.shape, kernels.dtype)
            found = max(found, op_scratch_bytes(kernels.add_squares(np.empty(1), source)))
    return found


def _updater_bytes(shape: tuple[int, ...], clips: bool, kernels: Kernels, updater: Updater) -> int:
    """The scratch of the update of a parameter of ``shape``; ``clips``: gradients are clipped to a norm."""
    key = shape, clips, type(kernels), str(kernels.dtype), repr(updater), updater.weight_decay, updater.clip
    if key not in _NEEDED:
        w, g, *state = _empty_arrays(shape, 2 + len(updater.states), kernels)
        norm = np.empty(1) if clips else None
        op = kernels.update(updater, w, g, state, ParameterScale(), Clock(), norm)
        _NEEDED[key] = op_scratch_bytes(op)
    return _NEEDED[key]


def _empty_arrays(shape: tuple[int, ...], count: int, kernels: Kernels) -> list[np.ndarray]:  # type: ignore[type-arg]
    """Some arrays without contents."""
    return [np.empty(shape, kernels.dtype) for _ in range(count)]
