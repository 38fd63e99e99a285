"""Data: where the rows of a mini-batch come from."""

__all__ = [
    "atomic",
    "corpus",
    "image",
    "prefetch",
    "repeated",
    "resize",
    "signatures",
    "source",
    "synthetic",
    "synthetic_masks",
    "synthetic_tokens",
    "text_windows",
]
