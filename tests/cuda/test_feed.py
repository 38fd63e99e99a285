"""Samples on their way to the device: the host writes the next ones while the device still has these to read."""

from __future__ import annotations

import numpy as np

from netpart.kernels.cuda.feed import LANES
from netpart.kernels.cuda.kernels import Kernels
from netpart.kernels.op import Array
from tests.cuda.module import cupy


def test_what_the_host_writes_reaches_the_device_in_order() -> None:
    xp = cupy()
    verbs = Kernels(xp, "float64")
    y = xp.zeros((2, 3))
    seen = xp.zeros((6, 2, 3))
    label, step = xp.zeros(2, np.int32), [0]

    def fill(data: Array, labels: Array, missing: None) -> None:
        step[0] += 1
        data[:], labels[:] = step[0], -step[0]

    op, copies = verbs.feed([y, label, None], fill), [verbs.copy(seen[k], y) for k in range(6)]
    assert not op.captured
    for copy in copies:
        op.run()
        copy.run()
    assert seen.get()[:, 0, 0].tolist() == [1, 2, 3, 4, 5, 6]
    assert label.get().tolist() == [-6, -6]


def test_the_host_is_not_more_than_its_lanes_ahead() -> None:
    xp = cupy()
    verbs = Kernels(xp, "float32")
    y = xp.zeros(4, np.float32)
    rows = list[int]()
    places = set[int]()

    def fill(data: Array) -> None:
        rows.append(len(rows))
        places.add(data.__array_interface__["data"][0])

    op = verbs.feed([y], fill)
    for _ in range(5):
        op.run()
    assert len(places) == LANES
    assert verbs.device.held == LANES * 16


def test_inputs_come_from_the_device() -> None:
    xp = cupy()
    verbs = Kernels(xp, "float64")
    x = xp.asarray(np.arange(3.0))
    y = xp.zeros(3)

    def fill(y: Array, x: Array) -> None:
        y[:] = 2 * x

    verbs.feed([y], fill, [x]).run()
    assert y.get().tolist() == [0, 2, 4]


def test_samples_may_lie_in_any_order_and_be_none() -> None:
    xp = cupy()
    verbs = Kernels(xp, "float32")
    y = xp.zeros((2, 4, 3), np.float32).transpose(0, 2, 1)
    none = xp.zeros((0, 2))

    def fill(data: Array, nothing: Array) -> None:
        data[:] = np.arange(24).reshape(2, 3, 4)

    verbs.feed([y, none], fill).run()
    np.testing.assert_array_equal(y.get(), np.arange(24).reshape(2, 3, 4))
