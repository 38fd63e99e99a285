"""Layers that read data."""

__all__ = [
    "array_input",
    "csv_input",
    "image_input",
    "images",
    "nifti",
    "parser",
    "placeholder",
    "rows",
    "shard_data",
    "source_images",
    "source_rows",
    "stores",
    "text",
    "token_input",
    "windows",
]
