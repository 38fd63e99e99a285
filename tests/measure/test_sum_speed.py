"""Sum speed: what the measured job sums, by messages of the bytes that are counted."""

from __future__ import annotations

import pytest

from netpart.collectives.network import LinkCost
from netpart.measure import sum_speed
from netpart.measure.sum_speed import LARGE, LAYERS, measure_sums
from netpart.plan.partition import partition_by_scheme
from netpart.plan.price.gradient_sums import SUM_WAYS
from netpart.plan.price.ledger import compute_ledger

ITEM = 4


def test_each_square_is_summed_once() -> None:
    cut = partition_by_scheme(sum_speed._summing_job(LARGE).proto, 2, phases=("train",))
    entries = [entry for entry in compute_ledger(cut).entries if entry.channel.way in SUM_WAYS]
    assert len(cut.buckets) == LAYERS
    # Two workers send half of each square to be added, and half of it with the sum.
    for worker in range(2):
        assert sum(entry.nbytes for entry in entries if entry.source == worker) == LAYERS * LARGE**2 * ITEM


def test_the_faster_of_two_runs_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = iter([2.0, 40.0, 3.0, 20.0])
    runs: dict[int, float] = {}

    def profile(side: int, transport: str) -> object:
        run = object()
        runs[id(run)] = next(seconds)
        kept.append(run)
        return run

    kept: list[object] = []
    monkeypatch.setattr(sum_speed, "_profile_sums", profile)
    monkeypatch.setattr(sum_speed, "_talking_seconds", lambda run: runs[id(run)])
    monkeypatch.setattr(sum_speed, "_sent_messages", lambda run: (1, 1 << 20))
    assert measure_sums("shm", 1e-6) == LinkCost(1e-6, 1.0, (1 << 20) / 18.0)


@pytest.mark.slow
def test_sums_can_be_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sum_speed, "STEPS", 3)
    monkeypatch.setattr(sum_speed, "LARGE", 1 << 8)
    found = measure_sums("shm", 1e-6)
    assert found.latency == 1e-6
    assert 0 < found.overhead < 1e-2
    assert 1e6 < found.bandwidth < 1e15
