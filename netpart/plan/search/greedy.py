"""GREEDY: the largest partition first, each on the device where it fits best, followed by exchanges while any helps."""

from __future__ import annotations

import numpy as np

from netpart.errors import NetpartError
from netpart.plan.search.knapsacks import Knapsacks, Plan
from netpart.plan.search.local_search import improve_plan
from netpart.plan.search.repair import TRIES, fill_idle_devices, put_on_device


def allocate_greedily(problem: Knapsacks) -> Plan:
    """A legal plan: largest partition first, on the device where it is worth most or done first.

    Raises ConfigError for a problem that obviously has no legal plan, NetpartError if none was found.
    """
    problem.check()
    random = np.random.default_rng(0)
    plan = np.full(len(problem.loads), -1, np.int64)
    # Ascending, because ``pop`` takes the last one.
    homeless = [int(i) for i in np.argsort(problem.loads, kind="stable")]
    # A partition may displace others, which are placed again; the bound ends the loop if that goes round in circles.
    for _ in range(len(homeless) + TRIES):
        if homeless:
            homeless += put_on_device(problem, plan, homeless.pop(), random)
    if homeless or not fill_idle_devices(problem, plan):
        raise NetpartError("GREEDY: expected a device with room for each partition, found none; increase --slack")
    return improve_plan(problem, plan)
