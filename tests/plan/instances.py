"""Random problems of allocation, and their best plan by trying all."""

from __future__ import annotations

from itertools import product

import numpy as np

from netpart.choices import PROFIT
from netpart.plan.search.knapsacks import Knapsacks, Plan


def instance(seed: int, partitions: int = 50, devices: int = 8, objective: str = PROFIT) -> Knapsacks:
    """Heterogeneous devices, 70 to 95 % of whose capacity the loads take."""
    random = np.random.default_rng(seed)
    loads, speeds = random.integers(10, 1000, partitions).astype(float), random.uniform(1, 8, devices)
    capacities = speeds / speeds.sum() * loads.sum() / random.uniform(0.70, 0.95)
    return Knapsacks(loads, capacities, speeds, objective)


def best_of_all(problem: Knapsacks) -> Plan | None:
    """The fittest legal plan; None if there is none."""
    devices = range(len(problem.capacities))
    plans = (np.array(plan) for plan in product(devices, repeat=len(problem.loads)))
    return max(filter(problem.is_legal, plans), key=problem.fitness, default=None)
