"""Choice bounds: for each choice of each variable, the least sum of tables of all assignments that have it.

They come from the elimination and one pass back (Dechter, Artificial Intelligence 113, 1999: buckets that send messages
both ways). A choice whose bound exceeds the sum of a known assignment is in no better one, and may be left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from netpart.plan.optimal.choice_arrays import Array
from netpart.plan.optimal.elimination import CostTable, cheapest_variable, eliminate_variable, sum_tables


@dataclass(frozen=True)
class _Bucket:
    """The tables with a variable when it was eliminated, and the table ``made`` that was left of them."""

    variable: int
    tables: Sequence[CostTable]
    made: CostTable


def least_by_choice(tables: Iterable[CostTable], sizes: Mapping[int, int]) -> dict[int, Array]:
    """By variable, the least sum of ``tables`` for each of its values."""
    buckets = _fill_buckets(tables, sizes)
    # What all other tables add at least, by the identity of the table that a bucket made.
    outside = {id(bucket.made): CostTable((), np.zeros(())) for bucket in buckets if not bucket.made.scope}
    rest = sum(float(bucket.made.costs) for bucket in buckets if not bucket.made.scope)
    found: dict[int, Array] = {}
    made = {id(bucket.made): bucket for bucket in buckets}
    for bucket in reversed(buckets):
        scope = (bucket.variable, *bucket.made.scope)
        total = sum_tables([*bucket.tables, outside[id(bucket.made)]], scope, sizes)
        alone = 0.0 if bucket.made.scope else rest - float(bucket.made.costs)
        found[bucket.variable] = total.min(axis=tuple(range(1, len(scope)))) + alone
        for table in bucket.tables:
            if id(table) in made:
                outside[id(table)] = _without_table(total, scope, table)
    return found


def _fill_buckets(tables: Iterable[CostTable], sizes: Mapping[int, int]) -> list[_Bucket]:
    """Eliminate all variables; the buckets in the order of elimination."""
    pool, left = list(tables), set(sizes)
    buckets: list[_Bucket] = []
    while left:
        variable = cheapest_variable(pool, left, sizes)
        of = [table for table in pool if variable in table.scope]
        made = eliminate_variable(variable, of, sizes)
        pool = [table for table in pool if variable not in table.scope] + ([made] if made.scope else [])
        buckets.append(_Bucket(variable, of, made))
        left.remove(variable)
    return buckets


def _without_table(total: Array, scope: Sequence[int], table: CostTable) -> CostTable:
    """The least of ``total``, a sum that includes ``table``, over all other variables, less ``table``."""
    gone = tuple(i for i, v in enumerate(scope) if v not in table.scope)
    kept = tuple(v for v in scope if v in table.scope)
    costs = table.costs.transpose([table.scope.index(v) for v in kept])
    return CostTable(kept, total.min(axis=gone) - costs)
