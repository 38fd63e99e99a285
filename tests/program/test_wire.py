"""Which messages peers may write where they belong: sums that come back, and nothing that is still looked at."""

from __future__ import annotations

import pytest

from netpart.collectives.kinds import SWAP
from netpart.program.buffers import FIXED
from netpart.program.compile import compile_worker
from netpart.program.instructions import CollectiveStart, Way
from netpart.program.program import WorkerProgram
from netpart.program.wire import overwritten, written_by_peers
from netpart.spec import intersect
from tests.worker.jobs import LENET, partition


def programs(workers: int, *overrides: str) -> list[WorkerProgram]:
    cut = partition(LENET, workers, *overrides)
    return [compile_worker(cut, worker) for worker in range(workers)]


def buckets(program: WorkerProgram) -> list[CollectiveStart]:
    return [s for s in program.phases["train"].collectives if s.channel.way == Way.BUCKET]


@pytest.mark.parametrize("workers", [2, 3, 4])
def test_of_a_ring_the_blocks_that_others_sum_are_written_where_they_belong(workers: int) -> None:
    for program in programs(workers, "collectives=RING"):
        for start in buckets(program):
            views = [view for _, view in overwritten(program, start)]
            assert len(views) == workers - 1
            assert all(view in start.target for view in views)
            assert all(intersect(a.box, b.box) is None for a in views for b in views if a is not b)


def test_addends_are_written_nowhere() -> None:
    for program in programs(3, "collectives=RING"):
        for start in buckets(program):
            added = {index for index, message in enumerate(start.exchange.schedule) if message.add}
            assert added
            assert not added & dict(overwritten(program, start)).keys()


def test_a_swap_brings_addends_alone() -> None:
    for program in programs(2):
        assert {start.exchange.algorithm for start in buckets(program)} == {SWAP}
        assert written_by_peers(program) == set()


def test_what_lies_in_the_arena_is_left_alone() -> None:
    """There another tensor may lie when a peer is early: of all collectives those of gradients alone are concerned."""
    for program in programs(2, "collectives=RING"):
        assert any(start.channel.way != Way.BUCKET for start in program.phases["train"].collectives)
        found = [program.buffers[b] for b in written_by_peers(program)]
        assert found
        assert all(buffer.kind == FIXED and buffer.name.startswith("bucket") for buffer in found)
