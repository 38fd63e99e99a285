"""Rewrites of the layer graph."""

__all__ = [
    "agree",
    "collect",
    "connect",
    "cuts",
    "expand",
    "listed",
    "norm",
    "place",
    "placer",
    "serve",
    "shard",
    "synchronise",
    "teams",
    "totals",
]
