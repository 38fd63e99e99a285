"""The layer graph of a job, and its partition."""

__all__ = [
    "build",
    "graph",
    "holdings",
    "ineffective_settings",
    "judged_metrics",
    "narrow_storage",
    "net",
    "notebook_display",
    "partition",
    "partition_codec",
    "read_data",
    "ready",
    "recomputed",
    "saved_holdings",
    "scheme",
    "server_pieces",
    "uncomputed",
    "uncut",
]
