from __future__ import annotations

import numpy as np

from netpart.kernels.op import Array
from tests.kernels.harness import K, play, rubbish


def test_the_host_writes_outputs_from_inputs_at_each_run() -> None:
    y = rubbish(2)
    label = rubbish(2, dtype="int32")
    x = np.array([1.0, 2.0])

    def fill(y: Array, label: Array, missing: None, x: Array) -> None:
        y[:], label[:] = 2 * x, 3

    op = K.feed([y, label, None], fill, [x])
    x += 1
    play(op)
    assert (y.tolist(), label.tolist(), op.captured) == ([4, 6], [3, 3], False)
