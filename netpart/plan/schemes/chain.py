"""Chains cut into runs: the dynamic programme behind stages of even work and behind blocks."""

from __future__ import annotations

import numpy as np

from netpart.plan.price.net_profile import Floats


def cut_chain(prices: Floats, parts: int, joined: np.ufunc = np.maximum) -> list[int]:
    """Where to cut a chain of n elements into ``parts`` runs: parts + 1 bounds from 0 to n.

    ``prices`` (n + 1, n + 1) has that of the run of elements a to b - 1 in [a, b], infinite where there is none. What
    ``joined`` makes of the prices of all runs, their maximum or their sum, is the least there is.
    """
    best = np.where(np.arange(len(prices)) == 0, 0.0, np.inf)
    splits = []
    for _ in range(parts):
        with_run = joined(best[:, None], prices)
        splits.append(with_run.argmin(axis=0))
        best = with_run.min(axis=0)
    found = [len(prices) - 1]
    for split in reversed(splits):
        found.append(int(split[found[-1]]))
    return found[::-1]
