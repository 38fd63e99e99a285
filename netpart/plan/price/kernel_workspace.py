"""Kernel workspace: the scratch memory that a worker's kernels need, found by binding them to arrays without contents.

All kernels of a worker run one after another and share one workspace, as large as the largest need among them. An
array without contents takes address space, but no memory; so do those that are bound here, one part at a time.
"""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from netpart.kernels.op import Array, Clock, op_scratch_bytes
from netpart.kernels.reference import Kernels
from netpart.plan.timings.part_call import BACKWARD, PartCall
from netpart.plan.timings.part_question import PartQuestion
from netpart.program.buffers import Order
from netpart.program.instructions import AddSquares, Backward, Forward, Update
from netpart.program.program import Program, WorkerProgram
from netpart.proto.job_pb2 import JobProto
from netpart.spec import BFLOAT16
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
    forwards = [each for each in phase.instructions if isinstance(each, Forward)]
    forwards += [each.then for each in forwards if each.then is not None]
    orders = {(each.micro, each.part): _memory_order(program, each) for each in forwards}
    backwards = [each for each in phase.instructions if isinstance(each, Backward)]
    backwards += [each.first for each in backwards if each.first is not None]
    calls: list[Forward | Backward] = [*forwards, *backwards]
    # Most micro-batches have the same layers, and ask the same.
    asked = {
        (_call_question(phase, each, orders[each.micro, each.part]), isinstance(each, Backward)) for each in calls
    }  # fmt: skip
    needs = (_part_bytes(question, back, kernels) for question, back in asked if question.can_be_called)
    return max(needs, default=0)


def _memory_order(program: WorkerProgram, forward: Forward) -> Order:
    """The order of the tensors of a part: that of its output, or of an input if its output has fewer axes."""
    views = (view for view in (*forward.y, *forward.x) if view is not None)
    return next((order for view in views if (order := program.buffers[view.buffer].order)), ())


def _call_question(phase: Program, call: Forward | Backward, order: Order) -> PartQuestion:
    """The part that one call computes."""
    graph = phase.micros[call.micro].graph
    part = graph.part_at(call.part)
    layer = graph.net.nodes[part.node].layer
    back = call if isinstance(call, Backward) else None
    wanted = () if back is None else tuple(view is not None for view in back.dx)
    trains = back is not None and any(view is not None for view in back.dw)
    wanted += (False,) * (len(layer.inputs) - len(wanted))
    narrow = graph.net.element(part.node) == BFLOAT16
    region = part.region
    if back is not None and back.rows is not None:
        region = (*region[:-1], (region[-1][0] + back.rows[0], region[-1][0] + back.rows[1]))
    return PartQuestion(layer, region, part.term, order, wanted, trains, narrow)


def _part_bytes(question: PartQuestion, backward: bool, kernels: Kernels) -> int:
    """The scratch of a call of a part, forward or ``backward``."""
    key = question.text, backward, type(kernels), str(kernels.dtype)
    if key not in _NEEDED:
        _NEEDED[key] = 0
        # What cannot be bound here is left out, and refused when it runs. A layer of a user may raise anything.
        with suppress(Exception):
            call = PartCall(question, kernels, drawn=False)
            op = call.forward()
            _NEEDED[key] = op_scratch_bytes(call.backward(BACKWARD) if backward else op)
    return _NEEDED[key]


def _update_bytes(program: WorkerProgram, phase: Program, kernels: Kernels, updater: Updater) -> int:
    """The largest need of an update, or of a square of gradients, in a phase."""
    found = 0
    for each in phase.in_turn:
        if isinstance(each, Update):
            holding = program.holdings[each.holding]
            shape = tuple(hi - lo for lo, hi in holding.home) if each.rows is None else each.value.shape
            if holding.parameter.spec.running is None:
                found = max(found, _updater_bytes(shape, each.norm is not None, kernels, updater))
            else:
                w, g = _empty_arrays(shape, 2, kernels)
                found = max(found, op_scratch_bytes(kernels.follow_mean(w, g, keep=0.9)))
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


def _empty_arrays(shape: tuple[int, ...], count: int, kernels: Kernels) -> list[Array]:
    """Some arrays without contents."""
    return [np.empty(shape, kernels.dtype) for _ in range(count)]
