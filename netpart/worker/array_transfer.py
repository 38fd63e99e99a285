"""Post: sends arrays from where a worker computes, and brings there what arrives."""

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
    """What ``transport`` carries from and to arrays of ``kernels``: through the host where a peer takes no others. A
    worker that is alone needs no transport."""

    def __init__(self, transport: Transport | None, kernels: Kernels) -> None:
        self.transport = transport
        self.xp = kernels.xp
        self.staging = None if kernels.xp is np else PinnedStaging(kernels)
        if self.staging is not None and transport is not None:
            transport.copy = DeviceCopies(kernels)

    def send(self, channel: Channel, step: int, peer: int, array: Array) -> None:
        """Sends an array of the device, through the host if the peer takes no others."""
        assert self.transport is not None
        if self.staging is not None and self.through_host(peer):
            array = self.staging.to_host(array)
        self.transport.send(channel, step, peer, array)

    def through_host(self, peer: int) -> bool:
        """True if what ``peer`` is sent must leave the device, which lets the host wait for it."""
        assert self.transport is not None
        return self.staging is not None and peer not in self.transport.device_peers

    def on_device(self, arrived: Array) -> Array:
        """What has arrived, on the device for what is done before something else arrives."""
        if self.staging is None or isinstance(arrived, self.xp.ndarray):
            return arrived
        return self.staging.to_device(arrived)
