"""Machine: the memory of one worker, allocated once, and the arrays of its Programs in that memory."""

from __future__ import annotations

from itertools import accumulate
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from netpart.errors import MemoryRefused
from netpart.kernels.bfloat16 import ELEMENT, widened
from netpart.kernels.op import Array, Clock
from netpart.program.arena import align_to_arena
from netpart.program.buffers import ALIAS, FIXED, Buffer, Order, View, item_size
from netpart.program.messages.wire_memory import (
    mapped_bytes,
    opened_bytes,
    peer_read_buffers,
    peer_written_buffers,
    wire_bytes,
)
from netpart.program.program import WorkerProgram
from netpart.spec import BFLOAT16, FLOAT, INT, RECORD, Shape, extent
from netpart.units import bytes_text
from netpart.updaters import AVERAGE
from netpart.worker.memory_limit import RESERVE, available_memory

if TYPE_CHECKING:
    from netpart.transport.transport import Transport
    from netpart.updaters import Updater

ALIGN = 64


class Machine:
    """The arrays of a WorkerProgram. ``clock`` is shared by every Op that depends on the step.

    ``staged_bytes`` are those of the copies from which checkpoints are written; who allocates them adds them here.

    ``transport`` provides the memory that peers may read and write. Raises MemoryRefused, before allocating anything,
    if the worker may not have the memory that it needs.
    """

    def __init__(
        self, program: WorkerProgram, xp: Any, updater: Updater | None, seed: int, poison: bool = False,
        transport: Transport | None = None,
    ) -> None:  # fmt: skip
        self.program = program
        self.xp = xp
        self.updater = updater
        self.seed = seed
        self.dtype = np.float64 if program.float_size == 8 else np.float32
        self.kernels = program.kernels(xp, self.dtype, program.precision)
        self.clock = Clock()
        shares = transport is not None and transport.slots_for_all
        opens = transport is not None and transport.opens_frames
        self.wire_bytes = wire_bytes(program, shares) + (opened_bytes(program) if opens else 0)
        self.mapped_bytes = mapped_bytes(program) if shares else 0
        self.workspace_bytes = 0
        self.staged_bytes = 0
        self.refuse_unless_fits(program.total_bytes)
        # Buffers that peers access directly must lie in the transport's memory from the start, as their addresses are
        # fixed.
        shared = self.shared(transport) if transport is not None and transport.xp is xp else {}
        self.versions: dict[int, list[Array]] = {
            b: [shared[b]] if b in shared else [self.zeros(b) for _ in range(program.copies(b))]
            for b, buffer in enumerate(program.buffers)
            if buffer.kind == FIXED
        }
        self.fixed = {b: versions[0] for b, versions in self.versions.items()}
        self.memory = xp.empty(program.arena_bytes + ALIGN, np.uint8)
        self.poisoned = poison
        self.state = [self.begun_state(h) for h in range(len(program.holdings))]

    def shared(self, transport: Transport) -> dict[int, Array]:
        """The arrays of the buffers that peers may read or write, in one block of the transport's memory."""
        open_to_peers = peer_written_buffers(self.program) | peer_read_buffers(self.program)
        buffers = {b: self.program.buffers[b] for b in sorted(open_to_peers)}
        if not buffers:
            return {}
        sizes = [buffer.nbytes(self.program.float_size) for buffer in buffers.values()]
        starts = [0, *accumulate(-(-nbytes // ALIGN) * ALIGN for nbytes in sizes)]
        memory = transport.allocate(starts[-1])
        return {
            b: _in_memory_order(
                memory[start : start + nbytes].view(self.element(buffer.dtype)), buffer.shape, buffer.order
            )
            for (b, buffer), start, nbytes in zip(buffers.items(), starts, sizes, strict=False)
        }

    def begun_state(self, h: int) -> dict[str, Array]:
        """The updater's state of a holding.

        The average of a running statistic is the statistic itself, as no updater moves it. Both use the same memory, so
        the average needs no update of its own.
        """
        holding = self.program.holdings[h]
        view = self.program.parameters[h]
        slots = self.updater.states if self.updater else ()
        state = {slot: self.zeros(view.buffer, extent(holding.home)) for slot in slots}
        if holding.parameter.spec.running is not None and AVERAGE in state:
            state[AVERAGE] = self.fixed[view.buffer][box_slices(self.program.at_home(view, h))]
        return state

    def zeros(self, b: int, shape: Shape | None = None) -> Array:
        """Memory for a buffer, or for another ``shape`` in the same axis order."""
        buffer = self.program.buffers[b]
        shape = buffer.shape if shape is None else shape
        return _in_memory_order(self.xp.zeros(prod(shape), self.element(buffer.dtype)), shape, buffer.order)

    @property
    def memory_bytes(self) -> int:
        """Maximum number of bytes of the plan: buffers, workspaces, messages in flight, and memory held by kernels on
        the device."""
        held = self.kernels.device.held if self.kernels.device else 0
        return int(self.program.total_bytes + self.workspace_bytes + self.wire_bytes + self.staged_bytes + held)

    def refuse_unless_fits(self, coming: int) -> None:
        """Raise MemoryRefused if the process may not have the ``coming`` bytes plus what its messages take."""
        p = self.program
        still = coming + self.wire_bytes + RESERVE
        cpu = self.xp is np
        needed = p.total_bytes + self.workspace_bytes + self.wire_bytes + self.staged_bytes + RESERVE
        free = self.free(needed - still)
        if free is None or still <= free:
            return
        left = f"{bytes_text(free)} of the GPU are left"
        if cpu:
            left = f"the host, its container or ulimit -v allow {bytes_text(free)}"
        raise MemoryRefused(
            f"worker {p.worker}: needs {needed} bytes ({bytes_text(needed)}: parameters, gradients and updater state "
            f"{bytes_text(p.fixed_bytes)}, activations {bytes_text(p.arena_bytes)}, "
            f"workspace {bytes_text(self.workspace_bytes)}, messages {bytes_text(self.wire_bytes)}, "
            f"{f'checkpoints {bytes_text(self.staged_bytes)}, ' if self.staged_bytes else ''}"
            f"{bytes_text(RESERVE)} in reserve) but may have {needed - still + free} ({left}); "
            f"cut the net over more workers, use more micro_batches or a smaller batchsize"
            f"{', or raise the limit' if cpu else ''}"
        )

    def free(self, held: int) -> int | None:
        """Bytes that may be allocated where the worker computes, in addition to the ``held`` ones; None if unknown."""
        return available_memory(held, self.mapped_bytes) if self.xp is np else _free_on_gpu(self.xp)

    def element(self, dtype: str) -> Any:
        """NumPy dtype of a buffer."""
        return np.dtype({FLOAT: self.dtype, INT: "int32", BFLOAT16: ELEMENT}.get(dtype, dtype))

    def to_host(self, array: Array) -> Array:
        """An array of the device, on the host."""
        return array if self.xp is np else self.xp.asnumpy(array)

    def held(self, view: View, phase: str) -> Array:
        """The contents of ``view`` after a step of ``phase``, on the host; bfloat16 as float32."""
        return self.to_host(widened(self.arrays(phase)(view)))

    def arrays(self, phase: str, mini: int = 0) -> PhaseArrays:
        """The arrays of one phase, and of mini-batch ``mini`` if several are in flight. All phases share the arena.

        For tests, averages replace the parameters if the updater tests averages.
        """
        arrays = PhaseArrays(self, phase, mini)
        if self.program.phases[phase].phase != "train" and self.updater is not None and self.updater.tests_averages:
            averages = (state[AVERAGE] for state in self.state)
            arrays.made.update(zip((view.buffer for view in self.program.parameters), averages, strict=True))
        return arrays


def _free_on_gpu(xp: Any) -> int:
    """Free bytes of the current GPU, and those that CuPy's pool keeps from arrays that are gone.

    The GPU counts the latter as used, but the pool gives them to new arrays.
    """
    return int(xp.cuda.runtime.memGetInfo()[0]) + int(xp.get_default_memory_pool().free_bytes())


def box_slices(view: View) -> tuple[slice, ...]:
    """The position of a view in the array of its buffer."""
    return tuple(slice(lo, hi) for lo, hi in view.box)


def _in_memory_order(flat: Array, shape: Shape, order: Order) -> Array:
    """Flat memory as an array of ``shape`` whose axes are stored in ``order``."""
    order = order or tuple(range(len(shape)))
    return flat.reshape([shape[axis] for axis in order]).transpose([order.index(axis) for axis in range(len(order))])


class PhaseArrays:
    """Arrays of views, with the arena laid out for one phase.

    ``mini`` is the number of the mini-batch, counted from when no other was in flight.
    """

    def __init__(self, machine: Machine, phase: str, mini: int) -> None:
        self.machine = machine
        self.program = machine.program
        self.mini = mini
        self.offsets = self.program.phases[phase].offsets
        self.copies = self.program.phases[phase].copies
        start = machine.memory.__array_interface__["data"][0] if machine.xp is np else machine.memory.data.ptr
        # Allocators do not promise this alignment, so the arena has ALIGN spare bytes and starts at the first aligned
        # one.
        self.base = -start % ALIGN
        self.made: dict[int, Array] = {}

    def __call__(self, view: View) -> Array:
        """The array of ``view``; for opaque records, a list of one element."""
        whole = self.buffer(view.buffer)
        shape = self.program.buffers[view.buffer].shape
        if isinstance(whole, list) or view.shape == shape:
            return whole
        return whole[box_slices(view)]

    def buffer(self, b: int) -> Array:
        found = self.made.get(b)
        if found is None:
            found = self.made[b] = self.make(b)
        return found

    def make(self, b: int) -> Array:
        buffer = self.program.buffers[b]
        if buffer.dtype == RECORD:
            return [None]
        if buffer.kind == FIXED:
            return self.machine.versions[b][self.mini % self.copies.get(b, 1)]
        return _in_memory_order(self.flat(b, buffer), buffer.shape, buffer.order)

    def flat(self, b: int, buffer: Buffer) -> Array:
        """The elements of a buffer in memory order."""
        count = prod(buffer.shape)
        element = self.machine.element(buffer.dtype)
        if buffer.kind == ALIAS:
            return self.buffer(buffer.parent)[buffer.offset : buffer.offset + count]
        if b not in self.offsets:
            return self.machine.xp.empty(count, element)
        nbytes = count * item_size(buffer.dtype, self.program.float_size)
        start = self.base + self.offsets[b] + self.mini % self.copies.get(b, 1) * align_to_arena(nbytes)
        return self.machine.memory[start : start + nbytes].view(element)

    def lying(self, view: View) -> Array:
        """The array of ``view`` with its axes in memory order, which is how it is sent."""
        order = self.program.buffers[view.buffer].order
        array = self(view)
        return array.transpose(order) if order else array
