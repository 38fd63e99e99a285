"""Which axes a reshape can be cut on, and what a part of it reads."""

from __future__ import annotations

import pytest

from netpart.layers.reshape import axis_groups
from netpart.spec import Spec
from tests.laws.cases import Case


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ((5, 4, 3), (5, 12), [((0,), (0,)), ((1, 2), (1,))]),
        ((5, 2, 3, 8), (5, 6, 4, 2), [((0,), (0,)), ((1, 2), (1,)), ((3,), (2, 3))]),
        ((5, 6, 4), (5, 4, 6), [((0,), (0,)), ((1, 2), (1, 2))]),
        ((1, 1, 4), (1, 4, 1), [((0,), (0,)), ((1, 2), (1, 2))]),
    ],
)
def test_groups_hold_the_same_elements(
    a: tuple[int, ...], b: tuple[int, ...], expected: list[tuple[tuple[int, ...], tuple[int, ...]]]
) -> None:
    assert [(tuple(x), tuple(y)) for x, y in axis_groups(a, b)] == expected


def test_a_cut_of_features_reads_the_channels_that_hold_them() -> None:
    layer = Case("kFlatten", "", (Spec((2, 4, 3)),)).layer()
    assert layer.cuts() == (0, 1)
    assert layer.needs(((0, 2), (0, 6))).inputs == (((0, 2), (0, 2), (0, 3)),)
    assert layer.needs(((0, 1), (4, 7))).inputs == (((0, 1), (1, 3), (0, 3)),)


def test_axes_that_move_as_one_are_cut_on_the_first() -> None:
    layer = Case("kReshape", "reshape_conf { shape: 3 shape: 4 shape: 10 }", (Spec((2, 12, 2, 5)),)).layer()
    assert layer.cuts() == (0, 1, 3)
    assert layer.needs(((0, 2), (1, 2), (0, 4), (5, 10))).inputs == (((0, 2), (4, 8), (1, 2), (0, 5)),)
