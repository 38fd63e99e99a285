"""Pinned staging: pinned host memory, through which tensors leave and reach a GPU if a transport takes no device
arrays.

The device copies from and to pinned memory by itself, in the order of its stream. For other memory the driver makes a
copy first, and blocks this thread until the work enqueued before is done.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from netpart.kernels.op import Array
from netpart.kernels.verbs import data_address

if TYPE_CHECKING:
    from netpart.kernels.reference import Kernels

ROOMS = 4
"""Number of arrivals that may be in flight to the device before this thread waits for the first of them."""


class PinnedBuffer:
    """Pinned memory that grows as needed. ``copied`` is an event after the last copy out of it."""

    def __init__(self, xp: Any) -> None:
        self.xp = xp
        self.bytes = np.empty(0, np.uint8)
        self.copied = xp.cuda.Event(disable_timing=True)

    def array(self, shape: tuple[int, ...], dtype: Any) -> Array:
        """Its first bytes as an array, once the last copy out of it is done."""
        self.copied.synchronize()
        nbytes = prod(shape) * dtype.itemsize
        if nbytes > self.bytes.size:
            self.bytes = np.frombuffer(self.xp.cuda.alloc_pinned_memory(nbytes), np.uint8, nbytes)
        return self.bytes[:nbytes].view(dtype).reshape(shape)


class DeviceCopies:
    """copy(dst, src) for arrays of the device that recur. A kernel is bound at the first call with a pair."""

    def __init__(self, kernels: Kernels) -> None:
        self.kernels = kernels
        self.bound = dict[tuple[Any, ...], Callable[[], None]]()
        kernels.copy(*kernels.xp.empty((2, 1), kernels.dtype))  # loads the kernel's source now, not in the first step

    def __call__(self, dst: Array, src: Array) -> None:
        pair = data_address(dst), data_address(src), src.shape, src.strides
        if pair not in self.bound:
            self.bound[pair] = self.kernels.copy(dst, src).run
        self.bound[pair]()


class PinnedStaging:
    """The staging buffers of one worker, and memory of the device for the largest message.

    ``kernels`` are those of the device. All copies are enqueued on the current stream.
    """

    def __init__(self, kernels: Kernels) -> None:
        self.kernels = kernels
        self.xp = kernels.xp
        self.leaving = PinnedBuffer(self.xp)
        self.arriving = cycle([PinnedBuffer(self.xp) for _ in range(ROOMS)])
        self.memory = self.xp.empty(0, np.uint8)
        self.copy = DeviceCopies(kernels)

    def to_host(self, array: Array) -> Array:
        """A copy on the host of an array of the device, valid until the next call. It must wait for the work enqueued
        before."""
        packed = array
        if array.size and not array.flags.c_contiguous:
            packed = self.like(array)
            self.copy(packed, array)
        return packed.get(out=self.leaving.array(array.shape, array.dtype))

    def like(self, array: Array) -> Array:
        """An array of the device without gaps, valid for work that is enqueued before the next call."""
        if array.nbytes > self.memory.nbytes:
            self.memory = self.xp.empty(array.nbytes, np.uint8)
            self.copy = DeviceCopies(self.kernels)
        return self.memory[: array.nbytes].view(array.dtype).reshape(array.shape)

    def to_device(self, array: Array) -> Array:
        """A copy on the device of a host array, valid for work that is enqueued before the next call. It waits for
        nothing."""
        found = self.like(array)
        if array.size:
            room = next(self.arriving)
            pinned = room.array(array.shape, array.dtype)
            stream = self.xp.cuda.get_current_stream()
            # Copied at once: the transport may reuse the memory of ``array`` before the device reads it.
            np.copyto(pinned, array)
            found.data.copy_from_host_async(pinned.ctypes.data, array.nbytes, stream)
            room.copied.record(stream)
        return found
