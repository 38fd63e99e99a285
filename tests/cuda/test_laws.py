"""Law 9 on a GPU: n workers are one worker, over random jobs and placements; steps are loaded, captured, replayed.

A kernel launched on an emulated GPU takes its time: here are a few examples of what tests/laws holds the CPU to.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netpart.graph.partition import partition_job
from netpart.kernels.choose import kernel_class
from tests.cuda.module import provide
from tests.laws.nets import Example, examples
from tests.laws.placements import Placed, placed_jobs
from tests.laws.workers import check_law

EXAMPLES = max(12, settings().max_examples // 8)
orders = st.integers(0, 2**16)


@pytest.fixture(autouse=True, scope="module")
def _device() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        provide(patch)
        yield


@pytest.mark.slow
@given(example=examples(), order=orders)
@settings(max_examples=EXAMPLES)
def test_n_workers_on_gpus_are_one_worker_in_every_job(example: Example, order: int) -> None:
    check_law(partition_job(example.job, example.workers), order, kernel_class("cuda"))


@pytest.mark.slow
@given(placed=placed_jobs(), order=orders)
@settings(max_examples=EXAMPLES)
def test_n_workers_on_gpus_are_one_worker_in_every_placement(placed: Placed, order: int) -> None:
    check_law(placed.partition(), order, kernel_class("cuda"))
