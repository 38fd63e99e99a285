"""Transfer prices: the messages of a row, and the groups that they connect, as written out one by one."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from netpart.plan.optimal.message_patterns import SizedMessage, _group_messages
from netpart.plan.optimal.transfer_prices import _row_messages


def messages_one_by_one(order: list[int], codes: np.ndarray) -> list[SizedMessage]:
    """Part by part the targets by their places, and for each of them its sources in ``order``."""
    workers = codes.shape[-1]
    found = []
    for part in codes:
        for t in sorted(range(workers), key=lambda t: part[t, t] % workers):
            code = int(codes[0, t, t]) // workers
            own, need = divmod(code // 4, workers)
            for s in order:
                if s != t and part[t, s] > 1:
                    elements, returned = divmod(int(part[t, s]), 2)
                    found.append(SizedMessage(s, t, elements, bool(returned), own, need, code & 2 > 0, code & 1 > 0))
    return found


@pytest.mark.parametrize("seed", range(40))
def test_the_messages_of_a_row(seed: int) -> None:
    random = np.random.default_rng(seed)
    workers, parts = int(random.integers(2, 7)), int(random.integers(1, 4))
    codes = random.integers(0, 40, (parts, workers, workers)) * random.integers(0, 2, (parts, workers, workers))
    own = np.arange(workers)
    # Several parts may have the same place: then workers keep their order.
    codes[:, own, own] = random.integers(0, workers, (parts, workers))
    codes[0, own, own] += workers * random.integers(0, 4 * workers * 30, workers)
    order = random.permutation(workers)[: random.integers(1, workers + 1)].tolist()
    assert _row_messages(order, codes) == messages_one_by_one(order, codes)


@pytest.mark.parametrize("seed", range(40))
def test_groups_are_connected_components(seed: int) -> None:
    random = np.random.default_rng(seed)
    pairs = [random.choice(9, 2, replace=False).tolist() for _ in range(int(random.integers(1, 9)))]
    messages = [SizedMessage(s, t, i, False, 0, 0, True, True) for i, (s, t) in enumerate(pairs)]
    groups = list(_group_messages(messages, 9))
    ends = [sorted({m.source for m in group} | {m.target for m in group}) for group in groups]
    assert sorted(ends) == sorted(map(sorted, nx.connected_components(nx.Graph(pairs))))
    # In the order of their first messages, and each in the order of its own.
    assert [g[0].elements for g in groups] == sorted(g[0].elements for g in groups)
    assert all(g == sorted(g, key=lambda m: m.elements) for g in groups)
