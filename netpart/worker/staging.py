"""Staging: pinned memory of the host, through which tensors leave a GPU and reach it where a transport takes no others.

The device copies from and to pinned memory by itself, in the order of its stream; of other memory the driver makes a
copy first, and lets this thread wait for what was enqueued before.
"""

from __future__ import annotations

from itertools import cycle
from math import prod
from typing import Any

import numpy as np

from netpart.kernels.op import Array

ROOMS = 4
"""Arrivals that may be on their way to the device before this thread waits for the first of them."""


class Room:
    """Pinned memory that grows with what is put there; ``copied`` is behind the last copy out of it."""

    def __init__(self, xp: Any) -> None:
        self.xp, self.bytes = xp, np.empty(0, np.uint8)
        self.copied = xp.cuda.Event(disable_timing=True)

    def array(self, shape: tuple[int, ...], dtype: Any) -> Array:
        """Its first bytes as an array, which nobody reads any more."""
        self.copied.synchronize()
        nbytes = prod(shape) * dtype.itemsize
        if nbytes > self.bytes.size:
            self.bytes = np.frombuffer(self.xp.cuda.alloc_pinned_memory(nbytes), np.uint8, nbytes)
        return self.bytes[:nbytes].view(dtype).reshape(shape)


class Staging:
    """The rooms of one worker, and memory of the device for the largest arrival.

    ``xp`` is cupy; all copies are enqueued on the current stream.
    """

    def __init__(self, xp: Any) -> None:
        self.xp = xp
        self.leaving, self.arriving = Room(xp), cycle([Room(xp) for _ in range(ROOMS)])
        self.memory = xp.empty(0, np.uint8)

    def to_host(self, array: Array) -> Array:
        """An array of the device, on the host until the next call; waits for what was enqueued before, as it must."""
        return array.get(out=self.leaving.array(array.shape, array.dtype))

    def to_device(self, array: Array) -> Array:
        """An array of the host, on the device for what is enqueued before the next call; waits for nothing."""
        if array.nbytes > self.memory.nbytes:
            self.memory = self.xp.empty(array.nbytes, np.uint8)
        found = self.memory[: array.nbytes].view(array.dtype).reshape(array.shape)
        if array.size:
            room = next(self.arriving)
            pinned, stream = room.array(array.shape, array.dtype), self.xp.cuda.get_current_stream()
            np.copyto(pinned, array)
            found.data.copy_from_host_async(pinned.ctypes.data, array.nbytes, stream)
            room.copied.record(stream)
        return found
