"""The high-water mark: no arena is smaller, and what it names is alive together."""

from __future__ import annotations

import pytest

from netpart.plan.partition import partition_by_scheme
from netpart.program.compile import compile_worker
from netpart.program.peak import find_arena_peak
from netpart.proto.reader import read_job
from tests.house.tree import ROOT


@pytest.mark.parametrize("workers", [1, 2])
def test_the_arena_is_as_large_as_its_peak_or_a_little_larger(workers: int) -> None:
    job = read_job(ROOT / "graphs" / "resnet" / "resnet18-small.conf")
    program = compile_worker(partition_by_scheme(job.proto, workers, job.folder), 0)
    found, arena = find_arena_peak(program), program.phases["train"].arena
    assert found.nbytes <= arena < 1.2 * found.nbytes
    sizes = [nbytes for _, nbytes in found.buffers]
    assert sizes == sorted(sizes, reverse=True)
    assert 0 < found.instruction < len(program.phases["train"].instructions)
