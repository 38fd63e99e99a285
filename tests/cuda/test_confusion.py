from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from netpart.kernels.confusion import BINS
from netpart.kernels.op import Array, Op, chain_ops
from tests.cuda.agreement import DTYPES, afresh, agree, complains, play
from tests.cuda.module import cupy
from tests.kernels.harness import normal


@given(st.integers(0, 70), st.integers(2, 5), st.integers(0, 9), st.booleans(), st.sampled_from([None, 1, -1]), DTYPES)
def test_counts(rows: int, classes: int, seed: int, shared: bool, ignored: int | None, dtype: str) -> None:
    random = np.random.default_rng(seed)
    x, label = normal(seed, rows, classes) * 9, random.integers(0, classes, rows, "int32")
    x[1::7] = np.nan
    if ignored == -1:
        label[::3] = ignored
    owned = random.integers(0, 2, (rows, 1)).astype(bool) if shared else None

    def both(kernels: Any, x: Array, best: Array, label: Array, owned: Array | None, metrics: Array) -> Op:
        return chain_ops(kernels.largest(x, best), kernels.confusion(x, best, label, metrics, owned, ignored))

    metrics = np.zeros(classes**2 + (2 * BINS if classes == 2 else 0))
    agree(both, x, np.zeros((rows, 1), "int32"), label, owned, dtype=dtype, metrics=metrics)


def test_a_label_that_is_not_a_class_is_complained_about_and_counted_nowhere() -> None:
    xp = cupy()
    kernels = afresh()
    metrics = cupy().zeros(9)
    args = xp.zeros((1, 3)), xp.zeros((1, 1), "int32"), xp.asarray(np.array([3], "int32")), metrics, None
    play(kernels.confusion(*args))
    assert not metrics.get().any()
    with complains("label: expected classes 0 to 2, got 3"):
        kernels.device.complaints.check()
