"""Link speed: what the measured exchange sends, and between which workers."""

from __future__ import annotations

from collections import Counter

import pytest

from netpart.measure import link_speed
from netpart.measure.link_speed import HOPS, ITEM, LARGE, MIDDLE, SMALL
from netpart.plan.partition import partition_by_scheme
from netpart.plan.price.ledger import compute_ledger


@pytest.mark.parametrize("side", [MIDDLE, LARGE])
def test_both_workers_send_quarters_of_the_small_and_of_the_large_squares(side: int) -> None:
    cut = partition_by_scheme(link_speed._exchange_job(side).proto, 2, phases=("train",))
    entries = [entry for flow in compute_ledger(cut).flows for entry in flow.entries() if entry.nbytes]
    sent = Counter((entry.source, entry.target, entry.nbytes) for entry in entries)
    quarters = [ITEM * each**2 // 4 for each in (SMALL, side)]
    assert sent == {(a, 1 - a, nbytes): HOPS for a in range(2) for nbytes in quarters}


def test_the_small_square_is_passed_back_and_forth() -> None:
    cut = partition_by_scheme(link_speed._ping_pong_job().proto, 2, phases=("train",))
    entries = [entry for flow in compute_ledger(cut).flows for entry in flow.entries()]
    assert [(entry.source, entry.nbytes) for entry in entries] == [(n % 2, ITEM * SMALL**2) for n in range(HOPS)]
