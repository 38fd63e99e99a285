"""Chains cut into runs: the dynamic programme for stages of even work and for blocks."""

from __future__ import annotations

import numpy as np

from netpart.plan.price.net_profile import Floats


def cut_chain(prices: Floats, parts: int, joined: np.ufunc = np.maximum) -> list[int]:
    """Cut a chain of n elements into ``parts`` runs; return parts + 1 bounds from 0 to n.

    ``prices`` (n + 1, n + 1) has at [a, b] the price of the run of elements a to b - 1, infinite if there is no such
    run. The bounds minimise ``joined`` over the prices of all runs: their maximum or their sum.
    """
    best = np.where(np.arange(len(prices)) == 0, 0.0, np.inf)
    splits = []
    for _ in range(parts):
        with_run = joined(best[:, None], prices)
        # ``splits[k][b]`` is where the last of k + 1 runs that end at b starts; the bounds are read back from it below.
        splits.append(with_run.argmin(axis=0))
        best = with_run.min(axis=0)
    found = [len(prices) - 1]
    for split in reversed(splits):
        found.append(int(split[found[-1]]))
    return found[::-1]
