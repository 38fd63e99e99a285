"""Law 9: n workers = 1 worker (decisions.md 17)."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from netpart.graph.partition import partition_job
from tests.laws.nets import Example, examples
from tests.laws.workers import check_law

EXAMPLES = max(300, settings.default.max_examples) if settings.default else 300


@given(example=examples(), order=st.integers(0, 2**16))
@settings(max_examples=EXAMPLES)
def test_n_workers_are_one_worker(example: Example, order: int) -> None:
    check_law(partition_job(example.job, example.workers), order)
