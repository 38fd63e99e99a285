"""The reference kernels of a CPU worker in a job with GPU workers.

Tensors are sent in their order in memory, so this worker has to use the GPU's order, channels-last.
"""

from __future__ import annotations

from typing import ClassVar

from netpart.kernels import reference


class ChannelsLastKernels(reference.Kernels):
    """The reference kernels for tensors with space in channels-last order."""

    channels_last: ClassVar[bool] = True
