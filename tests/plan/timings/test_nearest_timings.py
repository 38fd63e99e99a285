"""Estimates: near a timed call they are its seconds, between two they lie between, and they grow with the work."""

from __future__ import annotations

import pytest

from netpart.plan.timings.nearest_timings import CALL_SECONDS, NearestTimings
from netpart.plan.timings.timing_file import Timing


def nearest(*timings: Timing) -> NearestTimings:
    found = NearestTimings(1e9, 1e9)
    for timing in timings:
        found.add("Convolution forward", timing)
    return found


def test_without_timings_the_work_is_counted() -> None:
    assert nearest().estimate("Convolution forward", 1e9, 1e6) == pytest.approx(1.001 + CALL_SECONDS)


def test_a_slow_kind_is_estimated_as_slow() -> None:
    found = nearest(Timing(10.0, 1e9, 1e6))
    assert found.estimate("Convolution forward", 1e9, 1e6) == pytest.approx(10.0, rel=1e-6)
    assert found.estimate("Convolution forward", 2e9, 2e6) == pytest.approx(20.0, rel=1e-3)
    assert found.estimate("InnerProduct forward", 1e9, 1e6) < 2


def test_the_nearer_timing_counts_more() -> None:
    found = nearest(Timing(1.0, 1e9, 1e6), Timing(1000.0, 1e11, 1e8))
    rates = [found.estimate("Convolution forward", flops, flops / 1e3) / flops for flops in (2e9, 1e10, 5e10)]
    assert 1e-9 < rates[0] < rates[1] < rates[2] < 1e-8
