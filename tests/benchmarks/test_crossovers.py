"""Where two costs cross, and that the works of the sweeps cross where the formulas say."""

from __future__ import annotations

import pytest

from benchmarks.crossovers import SWEEPS, Pair, Sweep, crossing, square, verdict
from benchmarks.mlp import job
from netpart.plan.partition import partition_by_scheme
from netpart.plan.price.ledger import compute_ledger
from netpart.proto.reader import read_job_text

AT = [1, 10, 100, 1000]
CASES: list[tuple[list[Pair], float | None]] = [
    ([(1, 10), (10, 10), (100, 10), (1000, 10)], 10),
    ([(1, 10), (5, 10), (20, 10), (1000, 10)], 10 * 10**0.5),
    ([(1, 2), (4, 2), (1, 2), (4, 2)], 10**2.5),
    ([(1, 2)] * 4, None),
    ([(2, 1)] * 4, None),
    ([(2, 1), (2, 1), (2, 1), (1, 2)], None),
]


@pytest.mark.parametrize(("costs", "expected"), CASES)
def test_the_second_wins_for_good_from_the_last_crossing_on(costs: list[Pair], expected: float | None) -> None:
    assert crossing(AT, costs) == (None if expected is None else pytest.approx(expected))


def test_a_verdict_names_who_wins() -> None:
    sweep = Sweep(("A", "B"), "width", "", (1, 10), lambda n: square(n, n))
    assert verdict(sweep, [1, 10], [(1, 10), (10, 1)]) == "B from width 3 on"
    assert verdict(sweep, [1, 10], [(1, 2), (1, 2)]) == "A throughout"
    assert verdict(sweep, [1, 10], [(2, 1), (2, 1)]) == "B throughout"


def sent(sweep: Sweep, at: int) -> Pair:
    proto = read_job_text(job(sweep.work(at))).proto
    first, second = (compute_ledger(partition_by_scheme(proto, 2, scheme=scheme)).total for scheme in sweep.pair)
    return first, second


@pytest.mark.parametrize(("sweep", "expected"), list(zip(SWEEPS, (512, 1024, None), strict=True)))
def test_bytes_cross_where_the_formula_says(sweep: Sweep, expected: int | None) -> None:
    found = crossing(list(sweep.at), [sent(sweep, at) for at in sweep.at])
    assert found == (None if expected is None else pytest.approx(expected, rel=0.03))
