"""The cost of a cut: bytes, FLOPs, memory and predicted seconds."""

__all__ = [
    "cost",
    "devices",
    "group_traffic",
    "layer_loads",
    "ledger",
    "net_profile",
    "predict",
    "transfers",
    "worker_memory",
    "worker_shares",
]
