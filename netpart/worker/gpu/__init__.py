"""CUDA graphs, lanes (streams) and NCCL collectives on GPUs."""

__all__ = ["communicators", "graph_capture", "nccl_collectives", "pinned_staging"]
