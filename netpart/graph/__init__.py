"""The layer graph of a job, and its partition."""

__all__ = [
    "build",
    "graph",
    "holdings",
    "net",
    "notebook",
    "partition",
    "ready",
    "scheme",
    "subgraph",
    "uncomputed",
    "uncut",
    "unheeded",
]
