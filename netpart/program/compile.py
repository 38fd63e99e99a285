"""Compiles a worker's parts into its Programs: a restriction of the one global order to this worker.

A Slice, Split or sending bridge is a view of its source, not a copy; a gradient that has one origin is written
where it is wanted. Copies appear only where a kernel needs contiguous memory that the view cannot give.
"""

from __future__ import annotations

from itertools import chain

from netpart.graph.partition import Micro, Partition
from netpart.kernels.reference import Kernels
from netpart.program.arena import ALIGN, lifetimes, plan_arena
from netpart.program.backward import BackwardCompiler
from netpart.program.early import early
from netpart.program.forward import ForwardCompiler
from netpart.program.fusion import fused
from netpart.program.instructions import Instruction
from netpart.program.memory import Memory
from netpart.program.orders import orders
from netpart.program.parameters import ParameterMemory
from netpart.program.program import MetricSlot, Program, WorkerProgram
from netpart.program.recompute import Pass, least
from netpart.program.schedule import Stages, turns_of
from netpart.program.sharing import Sharing, layers_of
from netpart.proto.element import float_size
from netpart.proto.job_pb2 import Schedule

PHASE_CODES = {"train": 1, "val": 2, "test": 4}


def compile_worker(
    partition: Partition, worker: int, slots: int = 0, keep: bool = False, kernels: type[Kernels] = Kernels
) -> WorkerProgram:
    """Compiles all phases for ``worker``. ``slots`` is the number of state arrays the updater keeps per parameter.

    ``keep`` gives every buffer memory of its own, so that all values can be read after the step. ``kernels`` are those
    that will play, which say how tensors are to lie in memory.
    """
    width = float_size(partition.job)
    memory = Memory()
    parameters = ParameterMemory(memory, partition, worker)
    phases = {
        phase: compile_phase(phase, micros, worker, memory, parameters, width, keep, kernels)
        for phase, micros in partition.phases.items()
    }
    return WorkerProgram(
        worker, partition.workers, width, memory.buffers, partition.holdings[worker],
        parameters.values, parameters.gradients, phases, slots, kernels,
    )  # fmt: skip


def compile_phase(
    phase: str, micros: list[Micro], worker: int, memory: Memory, parameters: ParameterMemory, width: int,
    keep: bool, kernels: type[Kernels],
) -> Program:  # fmt: skip
    """The passes of all micro-batches in the order of the schedule, then the updates."""
    program = Program(phase, micros)
    code = PHASE_CODES[phase]
    program.metrics = plan_metrics(micros)
    made = {id(micro.graph): Stages(micro.graph) for micro in micros}
    stages = [made[id(micro.graph)] for micro in micros]
    forwards = [
        ForwardCompiler(s, worker, m, code, memory, parameters, program, orders(s.graph.net, kernels))
        for m, s in enumerate(stages)
    ]
    backwards = [BackwardCompiler(forward) for forward in forwards]
    order, trains = parameters.partition.job.neuralnet.schedule, micros[0].graph.net.backward
    turns = turns_of(worker, stages, Schedule.Order.Name(order), trains)
    first, last = list[Instruction](), list[Instruction]()
    if trains:
        ways = ((turn.micro, forwards[turn.micro], turn.stage) for turn in turns if turn.backward)
        parameters.expect((m, forward.graph.net, forward.of(stage)) for m, forward, stage in ways)
        first = parameters.start(code)
    passes = [Pass(t, (backwards if t.backward else forwards)[t.micro].run(t.stage)) for t in turns]
    if trains:
        last = parameters.finish(code)
    layers = layers_of(micros, worker)

    def listed(passes: list[Pass]) -> list[Instruction]:
        found = [*first, *chain.from_iterable(each.instructions for each in passes), *last]
        return early(memory.buffers, found, parameters.read_by_updates()) if trains else found

    def planned(instructions: list[Instruction]) -> tuple[dict[int, int], dict[int, int], int]:
        places = Sharing(memory.buffers, instructions, layers).find()
        return places, *plan_arena(memory.buffers, instructions, width, places)

    if trains and parameters.partition.job.neuralnet.recompute:
        passes = least(memory, passes, width, lambda option: planned(listed(option))[-1])
    program.instructions = listed(passes)
    if keep:
        program.offsets, program.arena = side_by_side(memory, program.instructions, width)
    else:
        places, program.offsets, program.arena = planned(program.instructions)
        program.instructions = fused(program.instructions, layers, places, kernels)
    return program


def plan_metrics(micros: list[Micro]) -> list[MetricSlot]:
    """One slot per layer that reports sums; every worker has the same slots."""
    slots: list[MetricSlot] = []
    offset = 0
    for node in micros[0].graph.net.nodes:
        if node.layer.metrics:
            slots.append(MetricSlot(node.name, node.layer.metrics, offset))
            offset += len(node.layer.metrics)
    return slots


def side_by_side(memory: Memory, instructions: list[Instruction], width: int) -> tuple[dict[int, int], int]:
    """A memory plan in which nothing shares memory."""
    offsets, end = {}, 0
    for b in lifetimes(memory.buffers, instructions):
        offsets[b] = end
        end += -(-memory.buffers[b].nbytes(width) // ALIGN) * ALIGN
    return offsets, end
