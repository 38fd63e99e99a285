"""Rewrites of the layer graph."""

__all__ = [
    "agree",
    "cells",
    "complete_sums",
    "connect",
    "expand",
    "listed_shards",
    "live_parts",
    "mark_collectives",
    "norm",
    "place",
    "placer",
    "sum_gradients",
    "teams",
    "totals",
    "uneven_cuts",
    "update_sharding",
]
