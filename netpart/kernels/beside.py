"""The reference kernels of a CPU worker beside GPU workers: tensors travel as they lie, so they lie as on the GPU."""

from __future__ import annotations

from typing import ClassVar

from netpart.kernels import reference


class ChannelsLastKernels(reference.Kernels):
    """The same verbs, given tensors with space channels-last."""

    channels_last: ClassVar[bool] = True
