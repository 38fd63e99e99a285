"""Machine: the memory of one worker, and its Programs bound to kernels and to a transport."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from netpart.errors import MemoryRefused
from netpart.kernels.op import Array, Clock
from netpart.kernels.reference import Kernels
from netpart.program.buffers import ALIAS, FIXED, Buffer, View, item_size
from netpart.program.program import WorkerProgram
from netpart.program.wire import wire_bytes
from netpart.spec import FLOAT, RECORD, extent
from netpart.units import bytes_text
from netpart.updaters import AVERAGE
from netpart.worker.limits import RESERVE, available_memory

if TYPE_CHECKING:
    from netpart.updaters import Updater

ALIGN = 64


class Machine:
    """Arrays of a WorkerProgram, allocated once. ``clock`` is shared by every Op that depends on the step.

    ``shared`` says that the transport keeps memory for every channel. Raises MemoryRefused, before allocating anything,
    when the worker may not have what it needs.
    """

    def __init__(
        self, program: WorkerProgram, xp: Any, updater: Updater | None, seed: int, poison: bool = False,
        shared: bool = False,
    ) -> None:  # fmt: skip
        self.program, self.xp, self.updater, self.seed = program, xp, updater, seed
        self.dtype = np.float64 if program.float_size == 8 else np.float32
        self.kernels = (program.kernels if xp is np else Kernels)(xp, self.dtype)
        self.clock = Clock()
        self.wire_bytes = wire_bytes(program, shared)
        self.refuse_unless_fits(program.total_bytes)
        self.fixed: dict[int, Array] = {
            b: xp.zeros(buffer.shape, self.element(buffer.dtype))
            for b, buffer in enumerate(program.buffers)
            if buffer.kind == FIXED
        }
        self.memory = xp.empty(program.arena_bytes + ALIGN, np.uint8)
        self.poisoned = poison
        slots = updater.states if updater else ()
        self.state: list[dict[str, Array]] = [
            {slot: xp.zeros(extent(holding.home), self.dtype) for slot in slots} for holding in program.holdings
        ]

    def refuse_unless_fits(self, coming: int, workspace: int = 0) -> None:
        """Raises MemoryRefused if the process may not have the ``coming`` bytes and what its messages take."""
        free = available_memory()
        if free is None or self.xp is not np or coming + self.wire_bytes + RESERVE <= free:
            return
        p, still = self.program, coming + self.wire_bytes + RESERVE
        needed = p.total_bytes + workspace + self.wire_bytes + RESERVE
        raise MemoryRefused(
            f"worker {p.worker}: needs {needed} bytes ({bytes_text(needed)}: parameters, gradients and updater state "
            f"{bytes_text(p.fixed_bytes)}, activations {bytes_text(p.arena_bytes)}, workspace {bytes_text(workspace)}, "
            f"messages {bytes_text(self.wire_bytes)}, {bytes_text(RESERVE)} in reserve) but may have "
            f"{needed - still + free} ({bytes_text(free)} of its address space are left); cut the net over more "
            "workers, use more micro_batches, or raise the limit (ulimit -v)"
        )

    def element(self, dtype: str) -> Any:
        """NumPy dtype of a buffer."""
        return self.dtype if dtype == FLOAT else np.dtype(dtype if dtype != "int" else "int32")

    def begin_state(self) -> None:
        """Completes the updater's state of all parameters, once these have their first values."""
        for holding, state in enumerate(self.state):
            if self.updater is not None:
                self.updater.begin(self.values_at_home(holding), list(state.values()))

    def values_at_home(self, holding: int) -> Array:
        """The values of what of a holding is updated here."""
        view = self.program.parameters[holding]
        return self.fixed[view.buffer][boxed(self.program.at_home(view, holding))]

    def arrays(self, phase: str) -> PhaseArrays:
        """The arrays of one phase: all phases share the arena. Averages stand for parameters where they are tested."""
        arrays = PhaseArrays(self, phase)
        if phase != "train" and self.updater is not None and self.updater.tests_averages:
            averages = (state[AVERAGE] for state in self.state)
            arrays.made.update(zip((view.buffer for view in self.program.parameters), averages, strict=True))
        return arrays


def boxed(view: View) -> tuple[slice, ...]:
    """Where a view lies in the array of its buffer."""
    return tuple(slice(lo, hi) for lo, hi in view.box)


class PhaseArrays:
    """Turns views into arrays, with the arena laid out for one phase."""

    def __init__(self, machine: Machine, phase: str) -> None:
        self.machine, self.program = machine, machine.program
        self.offsets = self.program.phases[phase].offsets
        start = machine.memory.__array_interface__["data"][0] if machine.xp is np else machine.memory.data.ptr
        self.base = -start % ALIGN
        self.made: dict[int, Array] = {}

    def __call__(self, view: View) -> Array:
        """The array of ``view``; a one-element list for opaque records."""
        whole = self.buffer(view.buffer)
        shape = self.program.buffers[view.buffer].shape
        if isinstance(whole, list) or view.shape == shape:
            return whole
        return whole[boxed(view)]

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
            return self.machine.fixed[b]
        order = buffer.order or tuple(range(len(buffer.shape)))
        lying = self.flat(b, buffer).reshape([buffer.shape[axis] for axis in order])
        return lying.transpose([order.index(axis) for axis in range(len(order))])

    def flat(self, b: int, buffer: Buffer) -> Array:
        """The elements of a buffer in the order of memory."""
        count, element = prod(buffer.shape), self.machine.element(buffer.dtype)
        if buffer.kind == ALIAS:
            return self.buffer(buffer.parent)[buffer.offset : buffer.offset + count]
        if b not in self.offsets:
            return self.machine.xp.empty(count, element)
        start = self.base + self.offsets[b]
        nbytes = count * item_size(buffer.dtype, self.program.float_size)
        return self.machine.memory[start : start + nbytes].view(element)

    def lying(self, view: View) -> Array:
        """The array of ``view`` with its axes in the order of memory: how it travels."""
        order, array = self.program.buffers[view.buffer].order, self(view)
        return array.transpose(order) if order else array
