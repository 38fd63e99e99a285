"""Data: sources of the rows of a mini-batch."""

__all__ = [
    "atomic_file",
    "corpus",
    "crop_images",
    "prefetched_rows",
    "record_order",
    "repeated_rows",
    "resize",
    "row_scaling",
    "row_source",
    "signatures",
    "synthetic",
    "synthetic_masks",
    "synthetic_tokens",
    "token_windows",
]
