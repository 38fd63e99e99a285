"""The benchmark of pipelines: its stages are equal, and with free messages they idle as the formula predicts."""

from __future__ import annotations

import pytest

from benchmarks.pipeline import Size, bubble, idle, job
from netpart.collectives.network import LinkCost
from netpart.measure.profile import ProfiledRun
from netpart.measure.simulate import simulate_partition
from netpart.plan.partition import partition_by_scheme

NOTHING, SPEED = LinkCost(1e-12, 1e-12, 1e18), 1e9
SMALL = Size(layers=3, width=32, border=8, rows=8, steps=9)


def played(stages: int, micro_batches: int, order: str = "ONE_F_ONE_B") -> ProfiledRun:
    found = job(SMALL, stages, micro_batches, order)
    cut = partition_by_scheme(found.proto, stages, found.folder, phases=("train",))
    return simulate_partition(cut, SMALL.steps, NOTHING, flops=SPEED)


@pytest.mark.parametrize(("stages", "micro_batches"), [(2, 1), (2, 4), (4, 4), (4, 12)])
def test_equal_stages_idle_as_the_formula_says(stages: int, micro_batches: int) -> None:
    expected = (stages - 1) / (micro_batches + stages - 1)
    found = played(stages, micro_batches)
    assert bubble(found.timeline) == pytest.approx(expected, rel=0.05)
    assert idle(found.timeline) == pytest.approx(expected, rel=0.05)


def test_delayed_stages_do_not_idle() -> None:
    late, plain = played(4, 1, "DELAYED"), played(4, 1)
    assert plain.profile.step_seconds / late.profile.step_seconds == pytest.approx(4, rel=0.1)
    assert bubble(late.timeline) < 0.1
