"""Narrowing: a plan space with exact prices of only those choices that the best plans may have.

Exact prices of all combinations of choices would take minutes. So choices are left out in two rounds. The first bounds
transfers for each reader by itself, the second for all readers of an output jointly:

1. The bounds give plans that are good by these bounds. The choices of these plans alone get exact prices: the best plan
   of this small space is known to be possible.
2. By the bounds, each choice of each layer has a least price of all plans with it. Those stay that may be in a plan
   that is better than the known one, or hardly worse. So it is with combinations of choices of an output and its
   readers: of these, only some get exact prices in the end, the others none.

No plan with any other choice takes less than the least price of these, so the bound holds for all choices.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from netpart.plan.optimal.branching import IsLate, PlanBranching
from netpart.plan.optimal.choice_arrays import Array
from netpart.plan.optimal.choice_bounds import least_by_entry
from netpart.plan.optimal.elimination import CostTable
from netpart.plan.optimal.layer_kinds import LayerKind
from netpart.plan.optimal.layer_tables import LayerTables
from netpart.plan.optimal.output_tables import TableKey
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


def narrow_space(loose: PlanSpace, memory: float = 0.0, is_late: IsLate = lambda: False) -> NarrowSpace:
    """The space of the choices that the best plans may have, with exact prices; ``memory`` as in ``bound``.

    When ``is_late`` says so, it is the space of the few plans that are best by the bounds so far.
    """
    spaces = _narrower_spaces(loose, memory, is_late)
    found = next(spaces)
    while not is_late() and (narrower := next(spaces, None)) is not None:
        found = narrower
    return found


def _narrower_spaces(loose: PlanSpace, memory: float, is_late: IsLate) -> Iterator[NarrowSpace]:
    """Spaces with exact prices: of the plans that are best by the bounds of either round, then of all choices that are
    left."""
    layers, others = loose.layers, float("inf")
    for joint in (False, True):
        bounds = build_plan_space(layers, joint, exact=False) if joint else loose
        best = [bounds.bound(weight, memory) for weight in WEIGHTS]
        first = _chosen_numbers(layers, (found.assignment for found in best))
        known = PlanBranching(build_plan_space(layers.restricted(first)), memory, GAP, is_late)
        known.explore()
        yield NarrowSpace(known.space, min(others, max(found.seconds for found in best)))
        least = _least_prices(bounds, memory)
        most = known.best * (1 + SLACK)
        able = {kind: np.flatnonzero(prices <= most) for kind, prices in least.choices.items()}
        kept = {kind: np.union1d(first[kind], chosen).tolist() for kind, chosen in able.items()}
        gone = (np.delete(prices, kept[kind]).min(initial=np.inf) for kind, prices in least.choices.items())
        others = min(others, *map(float, gone))
        entries = least.kept_entries(bounds, kept)
        layers = layers.restricted(kept)
    others = min(others, *(float(prices[prices > most].min(initial=np.inf)) for prices in entries.values()))
    wanted = {key: prices <= most for key, prices in entries.items()}
    yield NarrowSpace(build_plan_space(layers, wanted=wanted), others)


def _chosen_numbers(layers: LayerTables, plans: Iterable[Assignment]) -> ChosenNumbers:
    """The choices of some plans."""
    found: dict[LayerKind, set[int]] = {}
    for plan in plans:
        for variable, choice in plan.items():
            found.setdefault(layers.kinds[variable], set()).add(choice)
    return {kind: sorted(chosen) for kind, chosen in found.items()}


@dataclass(frozen=True)
class _LeastPrices:
    """The least price of all plans with each choice, by kind of variable, and with each entry of a table of transfers,
    by the key of the table."""

    choices: dict[LayerKind, Array]
    entries: dict[TableKey, Array]

    def kept_entries(self, bounds: PlanSpace, kept: ChosenNumbers) -> dict[TableKey, Array]:
        """The entries of the choices ``kept``."""
        kinds = bounds.layers.kinds
        scopes = {found.key: found.scope for found in bounds.outputs.transfers}
        return {key: prices[np.ix_(*(kept[kinds[v]] for v in scopes[key]))] for key, prices in self.entries.items()}


def _least_prices(bounds: PlanSpace, memory: float) -> _LeastPrices:
    """The least prices by the weight that shows most."""
    layers, found = bounds.layers, _LeastPrices({}, {})
    each = [_least_of_weight(bounds, weight, memory) for weight in WEIGHTS]
    prices = iter([np.max(of_table, axis=0) for of_table in zip(*each, strict=True)])
    for variable in layers.variables:
        _keep_least(found.choices, layers.kinds[variable], next(prices))
    for transfers in bounds.outputs.transfers:
        _keep_least(found.entries, transfers.key, next(prices))
    return found


def _least_of_weight(bounds: PlanSpace, weight: float, memory: float) -> list[Array]:
    """The least prices by choice of each variable, and by entry of each table of transfers, for a weight."""
    sizes = bounds.layers.sizes
    choices = [CostTable((variable,), np.zeros(sizes[variable])) for variable in bounds.layers.variables]
    outputs = list(bounds.output_cost_tables(weight))
    rest = list(bounds.own_cost_tables(weight, memory))
    return least_by_entry([*choices, *outputs, *rest], sizes)[: len(choices) + len(outputs)]


def _keep_least(found: dict[Any, Array], key: object, prices: Array) -> None:
    """Keep the least of all ``prices`` with one key."""
    found[key] = np.minimum(found[key], prices) if key in found else prices
