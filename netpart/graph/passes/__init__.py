"""Rewrites of the layer graph."""

__all__ = [
    "agree",
    "connect",
    "expand",
    "listed_shards",
    "mark_collectives",
    "norm",
    "place",
    "placer",
    "server_pieces",
    "sum_gradients",
    "teams",
    "totals",
    "uneven_cuts",
    "update_sharding",
]
