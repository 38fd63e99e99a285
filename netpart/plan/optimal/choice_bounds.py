"""Choice bounds: for each entry of each table, the least sum of tables of all assignments that have it.

They come from the elimination and one pass back (Dechter, Artificial Intelligence 113, 1999: buckets that send messages
both ways). An entry whose bound exceeds the sum of a known assignment is in no better one, and may be left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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


def least_by_entry(tables: Sequence[CostTable], sizes: Mapping[int, int]) -> list[Array]:
    """For each table, the least sum of ``tables`` of all assignments that have each of its entries."""
    buckets = _fill_buckets(tables, sizes)
    roots = [bucket.made for bucket in buckets if not bucket.made.scope]
    rest = sum(float(made.costs) for made in roots)
    # What all other tables add at least, by the identity of the table that a bucket made.
    outside = {id(made): CostTable((), np.asarray(rest - made.costs)) for made in roots}
    made = {id(bucket.made) for bucket in buckets}
    found: dict[int, Array] = {}
    for bucket in reversed(buckets):
        scope = (bucket.variable, *bucket.made.scope)
        total = sum_tables([*bucket.tables, outside[id(bucket.made)]], scope, sizes)
        for table in bucket.tables:
            least = _least_with(total, scope, table)
            if id(table) in made:
                outside[id(table)] = CostTable(table.scope, least - table.costs)
            else:
                found[id(table)] = least
    return [found[id(table)] for table in tables]


def _fill_buckets(tables: Sequence[CostTable], sizes: Mapping[int, int]) -> list[_Bucket]:
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


def _least_with(total: Array, scope: Sequence[int], table: CostTable) -> Array:
    """The least of ``total``, a sum that includes ``table``, for each entry of the table."""
    gone = tuple(i for i, v in enumerate(scope) if v not in table.scope)
    kept = [v for v in scope if v in table.scope]
    return np.asarray(total.min(axis=gone).transpose([kept.index(v) for v in table.scope]))
