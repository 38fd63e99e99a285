"""Volumes of NIfTI files."""

__all__ = ["augmentation", "nifti", "resampled_scans", "scan_masks", "scan_table"]
