"""ArrayTransfer: sends arrays from the device on which a worker computes, and brings received ones there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from netpart.kernels.op import Array
from netpart.program.instructions import Channel
from netpart.worker.gpu.pinned_staging import DeviceCopies, PinnedStaging

if TYPE_CHECKING:
    from netpart.kernels.reference import Kernels
    from netpart.transport.transport import Transport


class ArrayTransfer:
    """Connection of ``transport`` with arrays of ``kernels``, through the host for a peer that takes no device arrays.

    A worker that is alone needs no transport.
    """

    def __init__(self, transport: Transport | None, kernels: Kernels) -> None:
        self.transport = transport
        self.xp = kernels.xp
        self.staging = None if kernels.xp is np else PinnedStaging(kernels)
        if self.staging is not None and transport is not None:
            transport.copy = DeviceCopies(kernels)

    def send(self, channel: Channel, step: int, peer: int, array: Array) -> None:
        """Send an array of the device, through the host if the peer takes no device arrays."""
        assert self.transport is not None
        if self.staging is not None and self.through_host(peer):
            array = self.staging.to_host(array)
        self.transport.send(channel, step, peer, array)

    def through_host(self, peer: int) -> bool:
        """True if an array for ``peer`` must be copied to the host, which makes the host wait for the device."""
        assert self.transport is not None
        return self.staging is not None and peer not in self.transport.device_peers

    def on_device(self, arrived: Array) -> Array:
        """The received array on the device; valid for work that is enqueued before the next array arrives."""
        if self.staging is None or isinstance(arrived, self.xp.ndarray):
            return arrived
        return self.staging.to_device(arrived)
