"""Staging: tensors reach the other side whole, whatever is still to be done; nothing is overwritten too early."""

from __future__ import annotations

import numpy as np
import pytest

from netpart.kernels.cuda.kernels import Kernels
from netpart.worker.gpu.pinned_staging import ROOMS, PinnedStaging
from tests.cuda.module import emulated

cupy = emulated()


def test_arrivals_reach_the_device_although_it_lags_behind() -> None:
    """More are on their way than there are rooms, and the memory that they came in is used again at once."""
    staging, stream = PinnedStaging(Kernels(cupy, np.float32)), cupy.cuda.Stream(non_blocking=True)
    arrived, targets = np.empty((3, 4), np.float32), []
    with stream:
        for step in range(2 * ROOMS):
            arrived[...] = step
            targets.append(cupy.empty((3, 4), np.float32))
            targets[-1][...] = staging.to_device(arrived)
        assert not stream.done
        assert [target.get().mean() for target in targets] == list(range(2 * ROOMS))


def test_what_leaves_is_what_was_enqueued() -> None:
    staging, stream = PinnedStaging(Kernels(cupy, np.float32)), cupy.cuda.Stream(non_blocking=True)
    with stream:
        array = cupy.asarray(np.zeros((4, 5)))
        for value in range(3):
            array[...] = cupy.asarray(np.full((4, 5), float(value)))
            host = staging.to_host(array[:, 1:3])
            assert isinstance(host, np.ndarray)
            assert (host == np.full((4, 2), value)).all()


@pytest.mark.parametrize("shape", [(0,), (3, 0), (), (7,), (2, 1000)])
def test_any_shape_goes_there_and_back(shape: tuple[int, ...]) -> None:
    staging, values = PinnedStaging(Kernels(cupy, np.float32)), np.random.default_rng(1).standard_normal(shape)
    for _ in range(2):
        there = staging.to_device(values)
        assert (there.shape, there.dtype) == (values.shape, values.dtype)
        assert (staging.to_host(there) == values).all()
