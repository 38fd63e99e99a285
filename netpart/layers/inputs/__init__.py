"""Layers that read data."""

__all__ = ["csv_input", "nifti", "placeholder", "rows"]
