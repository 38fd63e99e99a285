"""Chains are cut as well as trying every cut finds, by their largest run and by the sum of all."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest

from netpart.plan.schemes.chain import cut_chain

COUNT = 7


def prices_of(seed: int) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Those of every run of a chain, at random."""
    random = np.random.default_rng(seed).random((COUNT + 1, COUNT + 1))
    return np.where(np.tri(COUNT + 1, dtype=bool), np.inf, random)


@pytest.mark.parametrize("joined", [np.maximum, np.add])
@pytest.mark.parametrize("parts", [1, 2, 3, COUNT])
@pytest.mark.parametrize("seed", range(5))
def test_no_cut_is_better(seed: int, parts: int, joined: np.ufunc) -> None:
    prices = prices_of(seed)
    every = [(0, *inner, COUNT) for inner in combinations(range(1, COUNT), parts - 1)]
    found = cut_chain(prices, parts, joined)
    assert tuple(found) in every
    value = {bounds: joined.reduce([prices[a, b] for a, b in pairwise(bounds)]) for bounds in every}
    assert value[tuple(found)] == pytest.approx(min(value.values()))
