"""The compiler of a worker's parts into its Programs: the restriction of the one global order to this worker.

A Slice, Split or sending bridge is a view of its source, not a copy. A gradient with a single origin is written
directly to its destination. Copies are made only where a kernel needs contiguous memory and the view is not contiguous.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import chain

from netpart.choices import DELAYED
from netpart.graph.partition import MicroBatch, Partition
from netpart.kernels.reference import Kernels
from netpart.program.arena import align_to_arena, buffer_lifetimes, plan_arena
from netpart.program.backward import BackwardCompiler
from netpart.program.buffer_table import BufferTable
from netpart.program.forward import ForwardCompiler
from netpart.program.instructions import PHASE_CODES, Instruction
from netpart.program.kernel_choice import product_precision
from netpart.program.metrics import plan_metrics
from netpart.program.parameters import ParameterMemory
from netpart.program.passes.absorb_rotations import absorb_rotations
from netpart.program.passes.buffer_sharing import BufferSharing, layers_by_part
from netpart.program.passes.fusion import fuse_activations, fuse_sums
from netpart.program.passes.overlap_updates import overlap_updates
from netpart.program.passes.postpone_weight_gradients import postpone_weight_gradients, split_backward
from netpart.program.passes.recompute import TurnInstructions, choose_recomputation
from netpart.program.passes.strip_gradients import GradientStrips
from netpart.program.passes.update_early import update_early
from netpart.program.program import Program, WorkerProgram
from netpart.program.schedules.delays import BufferCopies, count_buffer_copies
from netpart.program.schedules.schedule import schedule_order, worker_turns
from netpart.program.schedules.stages import StageGraph, stage_graphs
from netpart.program.updates import UpdateCompiler
from netpart.proto.element import float_size

LINGER, ROOM = 4, 64 << 20
"""For kernels that can run concurrently: the number of instructions for which a buffer is kept after its last use, so
that later kernels need not wait for its memory; and the bytes that this may cost. Kernels of larger buffers fill the
device by themselves."""


def compile_worker(
    partition: Partition, worker: int, slots: int = 0, keep: bool = False, kernels: type[Kernels] = Kernels,
    group: int = 0,
) -> WorkerProgram:  # fmt: skip
    """Compile all phases for ``worker``. ``slots`` is the number of state arrays the updater keeps per parameter.

    ``keep`` gives every buffer memory of its own, so that all values can be read after the step. ``kernels`` are those
    that will run; they decide how tensors lie in memory. ``group`` is the group in which the worker trains.
    """
    width = float_size(partition.job)
    memory = BufferTable()
    parameters = ParameterMemory(memory, partition, worker, kernels)
    updates = UpdateCompiler(parameters, group)
    phases = {
        phase: PhaseCompiler(phase, micros, worker, updates, width, kernels).compile(keep)
        for phase, micros in partition.phases.items()
    }
    cluster = partition.cluster
    if cluster.groups > 1 or partition.servers:
        for program in phases.values():
            program.ranks = cluster.ranks(group)
    return WorkerProgram(
        worker, partition.workers, width, memory.buffers, partition.holdings[worker],
        parameters.values, parameters.gradients, phases, slots, kernels, product_precision(partition.job),
    )  # fmt: skip


class PhaseCompiler:
    """A compiler of one phase: the passes of all micro-batches in the order of the schedule, then the updates."""

    def __init__(
        self, phase: str, micros: list[MicroBatch], worker: int, updates: UpdateCompiler, width: int,
        kernels: type[Kernels],
    ) -> None:  # fmt: skip
        self.micros = micros
        self.worker = worker
        self.updates = updates
        self.parameters = updates.parameters
        self.memory = self.parameters.memory
        self.width = width
        self.kernels = kernels
        self.code = PHASE_CODES[phase]
        self.trains = micros[0].graph.net.backward
        self.order = schedule_order(self.parameters.partition.job)
        self.program = Program(phase, micros, metrics=plan_metrics(micros))
        self.layers = layers_by_part(micros, worker)
        self.keep = False
        self.before: list[Instruction] = []
        self.after: list[Instruction] = []
        self.marked = frozenset[int]()

    def compile(self, keep: bool) -> Program:
        """The Program of the phase; ``keep`` as in ``compile_worker``."""
        program = self.program
        memory = self.memory
        self.keep = keep
        passes = self.passes()
        if self.marked and self.trains:
            passes = choose_recomputation(
                memory, passes, self.width, self.marked,
                lambda option: self.plan_memory(self.list_instructions(option))[-1],
            )  # fmt: skip
        program.instructions = self.list_instructions(passes)
        if not keep:
            program.instructions = absorb_rotations(program.instructions, self.layers, self.kernels)
        if keep:
            program.copies = self.copies(program.instructions, {})
            program.offsets, program.arena = _plan_unshared(memory, program.instructions, self.width, program.copies)
        else:
            places, program.offsets, program.arena = self.plan_memory(program.instructions)
            program.copies = self.copies(program.instructions, places)
            # After the memory is planned: an activation or sum is fused only if it uses the memory of its input.
            found = fuse_activations(program.instructions, self.layers, places, self.kernels)
            program.instructions = fuse_sums(found, self.layers, places, self.kernels)
        return program

    def passes(self) -> list[TurnInstructions]:
        """All passes of this worker in order; stores the instructions ``before`` and after (``behind``) them."""
        delayed = self.order == DELAYED and self.program.phase == "train"
        stages = stage_graphs(self.micros, delayed)
        self.program.depth = stages[0].depth
        forwards = [self.forward(m, s) for m, s in enumerate(stages)]
        backwards = [BackwardCompiler(forward, self.updates) for forward in forwards]
        turns = worker_turns(self.worker, stages, self.order, self.trains)
        if self.trains:
            # All backward passes are announced before one is compiled: the first contribution to a gradient overwrites.
            passes = ((turn.micro, forwards[turn.micro], turn.stage) for turn in turns if turn.backward)
            self.parameters.expect((m, forward.graph.net, forward.stage_parts(stage)) for m, forward, stage in passes)
            self.before = self.updates.start(self.code)
        found = [TurnInstructions(t, (backwards if t.backward else forwards)[t.micro].run(t.stage)) for t in turns]
        found = [
            TurnInstructions(t, _delay_instructions(i, stages[t.micro].delay(t.stage)) if t.backward else i)
            for t, i in found
        ]
        self.marked = frozenset[int]().union(*(forward.marked for forward in forwards))
        if self.trains:
            self.after = self.updates.finish(self.code)
        return found

    def forward(self, micro: int, stages: StageGraph) -> ForwardCompiler:
        """The compiler of the forward pass of one micro-batch."""
        return ForwardCompiler(
            stages, self.worker, micro, self.code, self.memory, self.parameters, self.program, self.kernels
        )  # fmt: skip

    def list_instructions(self, passes: list[TurnInstructions]) -> list[Instruction]:
        """The instructions of a step with these ``passes``."""
        buffers = self.memory.buffers
        played = (postpone_weight_gradients(buffers, i, self.layers) if turn.backward else i for turn, i in passes)
        found = [*self.before, *chain.from_iterable(played), *self.after]
        if self.kernels.branches:
            found = list(split_backward(found, self.layers))
        if not self.trains:
            return found
        found = overlap_updates(buffers, found)
        if self.kernels.gathers:
            return found
        found = update_early(buffers, found)
        return found if self.keep else GradientStrips(self.memory, self.layers, self.width).cut(found)

    def plan_memory(self, instructions: list[Instruction]) -> tuple[dict[int, int], dict[int, int], int]:
        """The buffers that use the memory of another one, the offsets of all buffers, and the bytes of the arena."""
        buffers = self.memory.buffers
        places = BufferSharing(buffers, instructions, self.layers).find()
        plan = partial(plan_arena, buffers, instructions, self.width, places, self.copies(instructions, places))
        offsets, size = plan()
        if self.kernels.branches:
            wider, more = plan(linger=LINGER)
            offsets, size = (wider, more) if more <= size + ROOM else (offsets, size)
        return places, offsets, size

    def copies(self, instructions: list[Instruction], places: Mapping[int, int]) -> BufferCopies:
        """The buffers that are held for several mini-batches, and for how many."""
        return count_buffer_copies(self.memory.buffers, instructions, places)


def _delay_instructions(instructions: list[Instruction], delay: int) -> list[Instruction]:
    """``instructions`` for the mini-batch ``delay`` steps earlier; a larger delay of an instruction stays."""
    return [replace(i, delay=max(i.delay, delay)) for i in instructions] if delay else instructions


def _plan_unshared(
    memory: BufferTable, instructions: list[Instruction], width: int, copies: BufferCopies
) -> tuple[dict[int, int], int]:
    """A memory plan in which nothing shares memory."""
    offsets, end = {}, 0
    for b in buffer_lifetimes(memory.buffers, instructions):
        offsets[b] = end
        end += copies.get(b, 1) * align_to_arena(memory.buffers[b].nbytes(width))
    return offsets, end
