"""Graphs, lanes and collectives on GPUs."""

__all__ = ["communicators", "graph_capture", "nccl_collectives", "pinned_staging"]
