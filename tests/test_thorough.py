"""Cases that `make test` omits are marked, so that `make test-thorough` runs them."""

from __future__ import annotations

import pytest

from tests import thorough
from tests.thorough import example_count, in_part, sampled


def test_a_sample_begins_with_the_first_case() -> None:
    found = sampled(["a", "b", "c", "d"], 3)
    assert [found[0], found[3]] == ["a", "d"]
    assert [[mark.name for mark in case.marks] for case in found[1:3]] == [["thorough"]] * 2


def test_marks_and_tuples_are_kept() -> None:
    slow = pytest.param(1, 2, marks=pytest.mark.slow, id="one")
    _, second, third = sampled([slow, (3, 4), slow], 5)
    assert second.values == (3, 4)
    assert (third.values, third.id) == ((1, 2), "one")
    assert {mark.name for mark in third.marks} == {"slow", "thorough"}


@pytest.mark.parametrize(("whole", "count", "found"), [(True, 60, 60), (False, 60, 15), (False, 6, 5), (False, 3, 3)])
def test_make_test_takes_a_share(monkeypatch: pytest.MonkeyPatch, whole: bool, count: int, found: int) -> None:
    monkeypatch.setattr(thorough, "THOROUGH", whole)
    assert example_count(count) == found


def test_each_test_is_in_one_part() -> None:
    parts = [[number for number in range(100) if in_part(f"test_{number}", f"{part}/4")] for part in range(4)]
    assert sorted(number for part in parts for number in part) == list(range(100))
    assert min(map(len, parts)) > 10
