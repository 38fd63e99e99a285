"""Volumes of NIfTI files."""

__all__ = ["augmentation", "nifti", "scans"]
