"""The cost of a cut: bytes, FLOPs, memory and predicted seconds."""

__all__ = [
    "cost",
    "devices",
    "gradient_sums",
    "group_traffic",
    "host_devices",
    "kernel_workspace",
    "layer_loads",
    "ledger",
    "like_layers",
    "named_devices",
    "net_profile",
    "part_prices",
    "predict",
    "recompute_choice",
    "step_floor",
    "transfers",
    "worker_memory",
    "worker_shares",
]
