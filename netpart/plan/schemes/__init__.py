"""Schemes: functions that place all layers of a net at once. ``docs/schemes.md`` draws them and counts their bytes.

N workers, b rows, L products (inner products, convolutions) of widths d_1 to d_L. ``netpart.families`` lists them.
"""

__all__ = [
    "altsplit",
    "chain",
    "column_row",
    "data",
    "gather_scatter",
    "hybrid",
    "naive",
    "on_workers",
    "one_weird_trick",
    "pipeline",
    "placing",
    "sequential",
]
