"""Layers that read data."""

__all__ = ["given", "nifti", "rows"]
