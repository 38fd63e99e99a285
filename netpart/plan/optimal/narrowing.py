"""Narrowing: a plan space with exact prices of only those choices that the best plans may have.

Exact prices of all combinations of choices would take minutes. So choices are left out in two rounds. The first bounds
transfers for each reader by itself, the second for all readers of an output jointly:

1. The bounds give plans that are good by these bounds. The choices of these plans alone get exact prices: the best plan
   of this small space is known to be possible.
2. By the bounds, each choice of each layer has a least price of all plans with it. Those stay that may be in a plan
   that is better than the known one, or hardly worse.

No plan with any other choice takes less than the least price of these, so the bound holds for all choices.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from netpart.plan.optimal.branching import PlanBranching
from netpart.plan.optimal.choice_arrays import Array
from netpart.plan.optimal.choice_bounds import least_by_choice
from netpart.plan.optimal.layer_kinds import LayerKind
from netpart.plan.optimal.layer_tables import LayerTables
from netpart.plan.optimal.plan_space import Assignment, PlanSpace, build_plan_space

WEIGHTS = (0.0, 0.5, 1.0)
"""Weights of the bounds."""
SLACK = 1e-3
"""Choices are kept if a plan with them may cost this much more than the known one, as a share of it."""
GAP = 1e-3
"""A gap of the small space that is small enough."""

ChosenNumbers = Mapping[LayerKind, list[int]]
"""By kind of variable, the numbers of some choices."""


@dataclass(frozen=True)
class NarrowSpace:
    """A ``space`` with some choices of all; a plan with any other one takes at least ``others`` seconds."""

    space: PlanSpace
    others: float


def narrow_space(loose: PlanSpace, memory: float = 0.0) -> NarrowSpace:
    """The space of the choices that the best plans may have, with exact prices; ``memory`` as in ``bound``."""
    layers, others = loose.layers, float("inf")
    for joint in (False, True):
        bounds = build_plan_space(layers, joint, exact=False) if joint else loose
        first = _chosen_numbers(layers, (bounds.bound(weight, memory).assignment for weight in WEIGHTS))
        known = PlanBranching(build_plan_space(layers.restricted(first)), memory, GAP, lambda: False)
        known.explore()
        least = _least_prices(bounds, memory)
        most = known.best * (1 + SLACK)
        able = {kind: np.flatnonzero(prices <= most) for kind, prices in least.items()}
        kept = {kind: np.union1d(first[kind], chosen).tolist() for kind, chosen in able.items()}
        gone = (np.delete(prices, kept[kind]).min(initial=np.inf) for kind, prices in least.items())
        others = min(others, *map(float, gone))
        layers = layers.restricted(kept)
    return NarrowSpace(build_plan_space(layers), others)


def _chosen_numbers(layers: LayerTables, plans: Iterable[Assignment]) -> ChosenNumbers:
    """The choices of some plans."""
    found: dict[LayerKind, set[int]] = {}
    for plan in plans:
        for variable, choice in plan.items():
            found.setdefault(layers.kinds[variable], set()).add(choice)
    return {kind: sorted(chosen) for kind, chosen in found.items()}


def _least_prices(loose: PlanSpace, memory: float) -> dict[LayerKind, Array]:
    """By kind of variable, the least price of all plans with each choice, by the weight that shows most."""
    layers, found = loose.layers, dict[LayerKind, Array]()
    each = [least_by_choice(loose.cost_tables(weight, memory), layers.sizes) for weight in WEIGHTS]
    for variable in layers.variables:
        prices = np.max([of_weight[variable] for of_weight in each], axis=0)
        kind = layers.kinds[variable]
        found[kind] = np.minimum(found[kind], prices) if kind in found else prices
    return found
