"""The cost of a cut: bytes, FLOPs, memory and predicted seconds."""

__all__ = [
    "cost",
    "devices",
    "group_traffic",
    "host_devices",
    "layer_loads",
    "ledger",
    "net_profile",
    "part_prices",
    "predict",
    "transfers",
    "worker_memory",
    "worker_shares",
]
