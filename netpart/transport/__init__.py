"""Transports: delivery of tensors from one worker to another."""

__all__ = [
    "cuda_ipc",
    "frames",
    "host_memory",
    "memory",
    "mpi",
    "mpi_world",
    "seal_keys",
    "sealing",
    "shm",
    "sockets",
    "transport",
    "zeromq",
]
