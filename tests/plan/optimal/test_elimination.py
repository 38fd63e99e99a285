"""Elimination finds the least sum of tables: the same as trying all assignments."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netpart.errors import NetpartError
from netpart.plan.optimal import elimination
from netpart.plan.optimal.elimination import CostTable, EliminationMemo, minimise_sum
from tests.thorough import example_count


@st.composite
def problems(draw: st.DrawFn) -> tuple[list[CostTable], dict[int, int]]:
    """Some variables, and tables over one to three of them each, some of which are there twice."""
    sizes = {v: draw(st.integers(1, 3)) for v in range(draw(st.integers(1, 6)))}
    scopes = st.lists(st.sampled_from(sorted(sizes)), min_size=1, max_size=3, unique=True)
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    tables = []
    for scope in draw(st.lists(scopes, min_size=1, max_size=8)):
        extents = [sizes[v] for v in scope]
        # Whole numbers, so that sums in any order are equal.
        tables.append(CostTable(tuple(scope), rng.integers(0, 50, extents).astype(float)))
        if draw(st.booleans()):
            tables.append(tables[-1])
    return tables, sizes


@settings(max_examples=example_count(80))
@given(problem=problems(), at_once=st.sampled_from([1, 8, 1 << 20]))
def test_it_finds_what_trying_everything_finds(problem: tuple[list[CostTable], dict[int, int]], at_once: int) -> None:
    tables, sizes = problem

    def total(values: dict[int, int]) -> float:
        return float(sum(t.costs[tuple(values[v] for v in t.scope)] for t in tables))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(elimination, "AT_ONCE", at_once)
        least, found = minimise_sum(tables, sizes)
    every = (dict(zip(sizes, values, strict=True)) for values in product(*(range(n) for n in sizes.values())))
    assert least == total(found) == min(map(total, every))


def test_equal_blocks_are_eliminated_once() -> None:
    """A chain of 20 variables with a leaf at each: all leaves meet the same table."""
    pair = np.random.default_rng(1).random((4, 4))
    chain = [CostTable((v, v + 1), pair) for v in range(20)]
    leaves = [CostTable((v, 100 + v), pair) for v in range(20)]
    memo = EliminationMemo()
    minimise_sum([*chain, *leaves], dict.fromkeys([*range(21), *range(100, 120)], 4), memo)
    assert len(memo.found) <= 21 + 2


def test_a_table_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elimination, "LARGEST", 7)
    with pytest.raises(NetpartError, match="tables of at most 7 elements, got one of 8"):
        minimise_sum([CostTable((0, 1, 2), np.zeros((2, 2, 2)))], {0: 2, 1: 2, 2: 2})
