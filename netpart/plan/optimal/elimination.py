"""Elimination: the assignment that minimises a sum of tables, exactly, by dynamic programming over the DAG's frontier.

Each table has an axis for each of its variables. A variable is eliminated by adding the tables that have it and taking
the minimum over it, which leaves a table over its neighbours (nonserial dynamic programming, Bertelè and Brioschi,
1972; the node and edge eliminations of OptCNN, Jia et al., ICML 2018, are those of variables with two neighbours). The
variable with the smallest such table is first. Chains, residual blocks and U-Nets never need a table of more than three
variables. Tables of equal blocks are the same objects, so equal blocks are eliminated once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np

from netpart.errors import NetpartError
from netpart.plan.optimal.choice_arrays import Array

LARGEST = 1 << 27
"""Elements of a table, with the axis of the variable that is eliminated, from which a problem is refused."""
AT_ONCE = 1 << 23
"""Elements of the sums that are made at a time, so that temporary arrays stay small."""
Scope = tuple[int, ...]


@dataclass(eq=False, frozen=True)
class CostTable:
    """A table of costs with an axis for each variable in ``scope``."""

    scope: Scope
    costs: Array


@dataclass(frozen=True)
class _Eliminated:
    """A variable that is gone: for each value of its neighbours in ``scope``, its best value."""

    variable: int
    scope: Scope
    best: Array


@dataclass
class EliminationMemo:
    """Results that are reused where the same tables meet in the same way; it keeps the tables alive, as they are known
    by their identity."""

    found: dict[tuple[object, ...], tuple[Array, Array]] = field(default_factory=dict)
    kept: list[Array] = field(default_factory=list)


def minimise_sum(
    tables: Iterable[CostTable], sizes: Mapping[int, int], memo: EliminationMemo | None = None
) -> tuple[float, dict[int, int]]:
    """The least sum of ``tables``, and a value below ``sizes`` for each variable that gives it.

    Raises NetpartError if a table would have more than LARGEST elements.
    """
    memo = memo or EliminationMemo()
    pool = list(tables)
    gone: list[_Eliminated] = []
    left = set(sizes)
    while left:
        variable = cheapest_variable(pool, left, sizes)
        of = [table for table in pool if variable in table.scope]
        pool = [table for table in pool if variable not in table.scope]
        made, step = _eliminate(variable, of, sizes, memo)
        pool.append(made)
        gone.append(step)
        left.remove(variable)
    return float(sum(table.costs for table in pool)), _assign_back(gone)


def cheapest_variable(pool: Sequence[CostTable], left: set[int], sizes: Mapping[int, int]) -> int:
    """The variable whose elimination makes the smallest table; the lowest of several."""
    near: dict[int, set[int]] = {v: set() for v in left}
    for table in pool:
        for v in table.scope:
            near[v].update(table.scope)
    return min(left, key=lambda v: (prod(sizes[n] for n in near[v] | {v}), v))


def _eliminate(
    variable: int, tables: Sequence[CostTable], sizes: Mapping[int, int], memo: EliminationMemo
) -> tuple[CostTable, _Eliminated]:
    """The table that is left of ``tables``, over the neighbours of ``variable``, and how to find its value."""
    scope = tuple(sorted({v for table in tables for v in table.scope} - {variable}))
    place = {v: i for i, v in enumerate((*scope, variable))}
    extents = tuple(sizes[v] for v in (*scope, variable))
    if prod(extents) > LARGEST:
        raise NetpartError(f"optimal: expected tables of at most {LARGEST:,} elements, got one of {prod(extents):,}")
    ordered = sorted(tables, key=lambda table: (tuple(place[v] for v in table.scope), id(table.costs)))
    key = (extents, *((id(table.costs), tuple(place[v] for v in table.scope)) for table in ordered))
    if key not in memo.found:
        memo.kept += [table.costs for table in ordered]
        arrays = [_aligned(table, place) for table in ordered]
        memo.found[key] = _least_sums(arrays, extents)
    costs, best = memo.found[key]
    return CostTable(scope, costs), _Eliminated(variable, scope, best)


def _aligned(table: CostTable, place: Mapping[int, int]) -> Array:
    """The costs of ``table`` with its axes in the order of ``place``, and an axis of extent 1 for each other
    variable."""
    order = sorted(range(len(table.scope)), key=lambda i: place[table.scope[i]])
    moved = table.costs.transpose(order)
    shape = [1] * len(place)
    for i, extent in zip(order, moved.shape, strict=True):
        shape[place[table.scope[i]]] = extent
    return moved.reshape(shape)


def sum_tables(tables: Sequence[CostTable], scope: Sequence[int], sizes: Mapping[int, int]) -> Array:
    """The sum of ``tables`` with an axis for each variable in ``scope``."""
    place = {v: i for i, v in enumerate(scope)}
    total = np.zeros([sizes[v] for v in scope])
    for table in tables:
        total += _aligned(table, place)
    return total


def eliminate_variable(variable: int, tables: Sequence[CostTable], sizes: Mapping[int, int]) -> CostTable:
    """The table that is left of ``tables``, over the neighbours of ``variable``."""
    return _eliminate(variable, tables, sizes, EliminationMemo())[0]


def _least_sums(arrays: Sequence[Array], extents: tuple[int, ...]) -> tuple[Array, Array]:
    """The least sum over the last axis, and where it is; ``extents`` are those of the sum."""
    *outer, _ = extents
    if not arrays:
        return np.zeros(outer), np.zeros(outer, np.int16)
    if len(outer) == 0 or prod(extents) <= AT_ONCE:
        total = np.broadcast_to(sum(arrays[1:], arrays[0]), extents)
        best = np.asarray(total.argmin(axis=-1))
        return np.take_along_axis(total, best[..., None], axis=-1)[..., 0], best.astype(np.int16)
    rows = [_least_sums([a[min(i, a.shape[0] - 1)] for a in arrays], extents[1:]) for i in range(extents[0])]
    return np.stack([costs for costs, _ in rows]), np.stack([best for _, best in rows])


def _assign_back(gone: Sequence[_Eliminated]) -> dict[int, int]:
    """The values of all variables, from the last that was eliminated to the first."""
    found: dict[int, int] = {}
    for step in reversed(gone):
        found[step.variable] = int(step.best[tuple(found[v] for v in step.scope)])
    return found
