"""A core that is slower than when it was calibrated is waited for, for a limited time in all."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest

from netpart.plan.timings import product_speed as timed
from netpart.plan.timings.product_speed import CoreWait, product_speed


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look at the clock takes a second."""
    monkeypatch.setattr(timed, "perf_counter", count().__next__)


def give_speeds(monkeypatch: pytest.MonkeyPatch, *speeds: float) -> Iterator[float]:
    found = iter(speeds)
    monkeypatch.setattr(timed, "product_speed", lambda **kwargs: next(found))
    return found


def test_a_core_at_its_speed_is_not_waited_for(monkeypatch: pytest.MonkeyPatch, clock: None) -> None:
    give_speeds(monkeypatch, 95.0)
    core = CoreWait(100.0, 5.0)
    assert not core.wait()
    assert core.patience == 5.0


def test_a_slowed_core_is_waited_for(monkeypatch: pytest.MonkeyPatch, clock: None) -> None:
    left = give_speeds(monkeypatch, 50.0, 60.0, 99.0, 1.0)
    core = CoreWait(100.0, 50.0)
    assert core.wait()
    assert list(left) == [1.0]
    assert core.patience == 46.0


def test_patience_ends(monkeypatch: pytest.MonkeyPatch, clock: None) -> None:
    monkeypatch.setattr(timed, "product_speed", lambda **kwargs: 1.0)
    core = CoreWait(100.0, 3.0)
    assert core.wait()
    assert core.patience <= 0
    assert not core.wait()


def test_the_core_of_this_host_has_the_speed_that_it_has() -> None:
    assert not CoreWait(product_speed() / 4).is_slowed()
    assert CoreWait(product_speed() * 1e3).is_slowed()
