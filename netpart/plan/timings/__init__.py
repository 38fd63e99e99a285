"""Measured seconds on this host: of a layer's kernels by the shape of a part, of updates, and the host's figures."""

__all__ = [
    "call_seconds",
    "host_figures",
    "kernel_times",
    "part_call",
    "part_question",
    "product_speed",
]
