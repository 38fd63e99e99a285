"""Schemes: plain functions that place all layers of a net at once. ``docs/schemes.md`` draws them and counts bytes.

N workers, b rows, L products (inner products, convolutions) of widths d_1 to d_L.
"""

from __future__ import annotations

from collections.abc import Callable

from netpart.graph.net import Net
from netpart.plan.schemes.altsplit import altsplit
from netpart.plan.schemes.column_row import column_row
from netpart.plan.schemes.data import data
from netpart.plan.schemes.gather_scatter import gather_scatter
from netpart.plan.schemes.naive import naive
from netpart.plan.schemes.one_weird_trick import one_weird_trick
from netpart.plan.schemes.pipeline import pipeline
from netpart.plan.schemes.sequential import sequential
from netpart.registry import Registry
from netpart.spec import Placement

Scheme = Callable[[Net, int], list[Placement]]
"""From a net and a number of workers to one placement per node."""

SCHEMES: Registry[Scheme] = Registry("scheme")

for _name, _scheme in {
    "SEQUENTIAL": sequential,
    "NAIVE": naive,
    "GATHER_SCATTER": gather_scatter,
    "ALTSPLIT": altsplit,
    "COLUMN_ROW": column_row,
    "DATA": data,
    "ONE_WEIRD_TRICK": one_weird_trick,
    "PIPELINE": pipeline,
}.items():
    SCHEMES.add(_name)(_scheme)
