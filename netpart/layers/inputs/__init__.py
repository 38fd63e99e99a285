"""Layers that read data."""

__all__ = ["nifti", "placeholder", "rows"]
