"""Thirty random faults in elastic runs of the four nets of tools.elastic_faults: equality, no hang, nothing left."""

from __future__ import annotations

import pytest

from tools.elastic_faults import check_runs
from tools.fault_jobs import JOBS

FAULTS = 5


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(6))
def test_random_faults_leave_the_parameters_as_they_are(seed: int) -> None:
    names = [list(JOBS)[(seed + turn) % len(JOBS)] for turn in range(len(JOBS))]
    found = check_runs(seed, FAULTS, names, None, at_once=1)
    assert found["wrong"] == []
    assert found["faults"] >= FAULTS
