"""Layers that read data."""

__all__ = ["array", "nifti", "parser", "placeholder", "rows", "shard_data", "text"]
