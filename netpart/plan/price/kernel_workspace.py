"""Kernel workspace: the scratch memory that a worker's kernels need, found by binding them to arrays without contents.

All kernels of a worker run one after another and share one workspace, as large as the largest need among them. An
array without contents takes address space, but no memory; so do those that are bound here, one part at a time.
Binding them also shows which primitives of oneDNN they consist of.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from netpart.kernels.op import Array, Clock, Op, op_scratch_bytes
from netpart.kernels.reference import Kernels
from netpart.plan.timings.part_call import BACKWARD, PartCall
from netpart.plan.timings.part_question import PartQuestion
from netpart.program.buffers import Order
from netpart.program.instructions import AddSquares, Backward, Forward, Update
from netpart.program.program import Program, WorkerProgram
from netpart.proto.job_pb2 import JobProto
from netpart.spec import BFLOAT16, Shape
from netpart.updaters import ParameterScale, Updater, build_updater


class CallMemory(NamedTuple):
    """For what a call takes memory: bytes of ``scratch``, and the kinds of the ``primitives`` that it is bound to."""

    scratch: int = 0
    primitives: tuple[str, ...] = ()


Key = tuple[object, ...]
_FOUND: dict[Key, CallMemory] = {}
"""By all that it depends on: parts of one shape are alike, on any worker."""


def workspace_bytes(program: WorkerProgram, job: JobProto) -> int:
    """Bytes of the workspace of a worker of ``job``. 0 on a GPU, whose libraries choose it when they are used."""
    return max((call_memory(key).scratch for key in count_calls(program, job)), default=0)


def call_memory(key: Key) -> CallMemory:
    """The memory of a call of ``count_calls``."""
    return _FOUND[key]


def count_calls(program: WorkerProgram, job: JobProto) -> Counter[Key]:
    """How often a worker of ``job`` binds each kind of call; none on a GPU."""
    if program.kernels.runs_on != "cpu":
        return Counter()
    kernels = program.kernels(np, np.float64 if program.float_size == 8 else np.float32, program.precision)
    updater = build_updater(job.updater)
    found = Counter[Key]()
    for phase in program.phases.values():
        found.update(_layer_calls(program, phase, kernels))
        found.update(_update_calls(program, phase, kernels, updater))
    return found


def _layer_calls(program: WorkerProgram, phase: Program, kernels: Kernels) -> Iterator[Key]:
    """The calls of layers in a phase."""
    forwards = [each for each in phase.instructions if isinstance(each, Forward)]
    forwards += [each.then for each in forwards if each.then is not None]
    orders = {(each.micro, each.part): _memory_order(program, each) for each in forwards}
    backwards = [each for each in phase.instructions if isinstance(each, Backward)]
    backwards += [each.first for each in backwards if each.first is not None]
    calls: list[Forward | Backward] = [*forwards, *backwards]
    for each in calls:
        question = _call_question(phase, each, orders[each.micro, each.part])
        if question.can_be_called:
            yield _part_key(question, isinstance(each, Backward), kernels)


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


def _part_key(question: PartQuestion, backward: bool, kernels: Kernels) -> Key:
    """The call of a part, forward or ``backward``."""
    key = question.text, backward, type(kernels), str(kernels.dtype)
    if key not in _FOUND:
        _FOUND[key] = CallMemory()
        # What cannot be bound here is left out, and refused when it runs. A layer of a user may raise anything.
        with suppress(Exception):
            call = PartCall(question, kernels, drawn=False)
            forward = _bind(kernels, call.forward)
            _FOUND[key] = _bind(kernels, lambda: call.backward(BACKWARD)) if backward else forward
    return key


def _bind(kernels: Kernels, bind: Callable[[], Op]) -> CallMemory:
    """The memory of the call that ``bind`` binds."""
    before = len(kernels.implementations)
    op = bind()
    return CallMemory(op_scratch_bytes(op), tuple(kind for kind, _ in kernels.implementations[before:]))


def _update_calls(program: WorkerProgram, phase: Program, kernels: Kernels, updater: Updater) -> Iterator[Key]:
    """The updates, and squares of gradients, in a phase."""
    for each in phase.in_turn:
        if isinstance(each, Update):
            holding = program.holdings[each.holding]
            shape = tuple(hi - lo for lo, hi in holding.home) if each.rows is None else each.value.shape
            if holding.parameter.spec.running is None:
                yield _updater_key(shape, each.norm is not None, kernels, updater)
            else:
                yield _mean_key(shape, kernels)
        elif isinstance(each, AddSquares):
            yield _squares_key(each.source.shape, kernels)


def _updater_key(shape: Shape, clips: bool, kernels: Kernels, updater: Updater) -> Key:
    """The update of a parameter of ``shape``; ``clips``: gradients are clipped to a norm."""
    key = shape, clips, type(kernels), str(kernels.dtype), repr(updater), updater.weight_decay, updater.clip
    if key not in _FOUND:
        w, g, *state = _empty_arrays(shape, 2 + len(updater.states), kernels)
        norm = np.empty(1) if clips else None
        _FOUND[key] = _bind(kernels, lambda: kernels.update(updater, w, g, state, ParameterScale(), Clock(), norm))
    return key


def _mean_key(shape: Shape, kernels: Kernels) -> Key:
    """A running mean of ``shape`` that follows another one."""
    key = "follow_mean", shape, type(kernels), str(kernels.dtype)
    if key not in _FOUND:
        mean, value = _empty_arrays(shape, 2, kernels)
        _FOUND[key] = _bind(kernels, lambda: kernels.follow_mean(mean, value, keep=0.9))
    return key


def _squares_key(shape: Shape, kernels: Kernels) -> Key:
    """The sum of squares of a gradient of ``shape``."""
    key = "add_squares", shape, type(kernels), str(kernels.dtype)
    if key not in _FOUND:
        (gradient,) = _empty_arrays(shape, 1, kernels)
        _FOUND[key] = _bind(kernels, lambda: kernels.add_squares(np.empty(1), gradient))
    return key


def _empty_arrays(shape: Shape, count: int, kernels: Kernels) -> list[Array]:
    """Some arrays without contents."""
    return [np.empty(shape, kernels.dtype) for _ in range(count)]
