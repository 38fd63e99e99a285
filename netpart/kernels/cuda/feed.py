"""Values that the host computes, copied to the device while that still computes the previous step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import cycle
from typing import Any

import numpy as np

from netpart.kernels.cuda.device import pinned_array
from netpart.kernels.cuda.launch import CudaVerbs
from netpart.kernels.op import Array, Op, chain_ops
from netpart.kernels.verbs import data_address

ALIGNED = 16
"""The alignment in bytes of the arrays of a lane, which are copied as one block."""
LANES = 2
"""The steps by which the host may be ahead: while the device computes with one lane, the host fills the next."""


class Feed(CudaVerbs):
    """Kernels that run on the host."""

    def feed(self, ys: Sequence[Array], fill: Callable[..., None], xs: Sequence[Array] = ()) -> Op:
        """Overwrite ``ys`` with what ``fill(*outputs, *inputs)`` writes into host arrays of their shapes and dtypes.

        Its inputs are ``xs`` as host arrays; a None among ``ys`` is passed on as None. ``fill`` is called in every
        step, and may be called before the previous ``ys`` have been read. The host waits for the device only for
        ``xs``, or if it is more than LANES steps ahead.
        """
        lanes = [UploadLane(self, ys) for _ in range(LANES)]
        turns = cycle(lanes)
        device = self.device

        def run(*scratch: Array) -> None:
            lane = next(turns)
            # The host memory may be overwritten once its last upload is complete.
            lane.uploaded.synchronize()
            fill(*lane.hosts, *map(device.xp.asnumpy, xs))
            lane.upload()
            device.stream.wait_event(lane.uploaded)
            lane.copies.run(*scratch)
            # From here on the device memory of the lane may be overwritten: the next upload waits for this event.
            lane.taken.record(device.stream)

        return Op(run, lanes[0].copies.scratch, captured=False)


class UploadLane:
    """Memory for ``ys`` on the host and on the device, and the events after which it may be overwritten.

    These are ``uploaded`` for the host memory and ``taken`` for the device memory.
    """

    def __init__(self, verbs: Any, ys: Sequence[Array]) -> None:
        self.device = verbs.device
        xp = verbs.xp
        sizes = [0 if y is None else -(-int(y.nbytes) // ALIGNED) * ALIGNED for y in ys]
        self.host = pinned_array(xp, (sum(sizes),), np.uint8)
        self.memory = xp.empty(sum(sizes), np.uint8)
        self.hosts, self.there = ([*_lane_pieces(memory, sizes, ys)] for memory in (self.host, self.memory))
        self.uploaded, self.taken = (xp.cuda.Event(disable_timing=True) for _ in range(2))
        pairs = zip(ys, self.there, strict=True)
        self.copies = chain_ops(*(verbs.copy(y, there) for y, there in pairs if y is not None))
        self.taken.record(self.device.stream)  # memory from the pool: earlier work on the stream may still use it
        self.device.held += int(self.memory.nbytes)

    def upload(self) -> None:
        """Enqueue the copy to the device, on a stream that runs concurrently with the kernels."""
        stream = self.device.uploads
        stream.wait_event(self.taken)
        if self.host.size:
            self.memory.data.copy_from_host_async(data_address(self.host), self.host.nbytes, stream)
        self.uploaded.record(stream)


def _lane_pieces(memory: Array, sizes: Sequence[int], ys: Sequence[Array]) -> Iterator[Array]:
    """Arrays like ``ys``, each in ``sizes`` bytes of ``memory``; None stays None."""
    start = 0
    for size, y in zip(sizes, ys, strict=True):
        yield None if y is None else memory[start : start + y.nbytes].view(y.dtype).reshape(y.shape)
        start += size
