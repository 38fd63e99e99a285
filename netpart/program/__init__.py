"""One list of instructions per worker."""

__all__ = [
    "arena",
    "buffers",
    "collective_instructions",
    "compile",
    "exchange",
    "gradient_norm",
    "group_average",
    "instructions",
    "kernel_choice",
    "memory_orders",
    "metrics",
    "peak",
    "program",
    "server",
    "server_messages",
    "worker_shape",
]
