"""What every test stands on: one BLAS thread per process, and hypothesis profiles for two habits of testing."""

from __future__ import annotations

import gc
import os

import pytest
from hypothesis import HealthCheck, settings

for library in ("OMP", "OPENBLAS", "MKL"):  # read once, when numpy is first imported
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

# "house" is repeatable: a commit is judged by the same examples each time. `--hypothesis-profile=hunt` looks elsewhere
# each time, and longer, for what the house has not seen yet. Time per example says nothing on a shared machine.
settings.register_profile("house", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("hunt", settings.get_profile("house"), derandomize=False, max_examples=2000, print_blob=True)
settings.load_profile("house")


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Takes what was collected out of the garbage collector's sight.

    Thousands of tests live to the end, and each full collection would walk through all of them: a fifth of the
    processor time of the laws.
    """
    gc.collect()
    gc.freeze()
