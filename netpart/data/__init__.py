"""Data: sources of the rows of a mini-batch. ``netpart.data.KvWriter`` writes a store of records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from netpart.data.stores.kvfile import KvWriter as KvWriter

__all__ = [
    "atomic_file",
    "corpus",
    "crop_images",
    "open_bytes",
    "prefetched_rows",
    "record_order",
    "repeated_rows",
    "resize",
    "row_scaling",
    "row_source",
    "signatures",
    "source_file",
    "synthetic",
    "synthetic_masks",
    "synthetic_tokens",
    "token_windows",
]


def __getattr__(name: str) -> Any:
    # Imported on first use: the modules of this room must not wait for each other.
    if name == "KvWriter":
        from netpart.data.stores.kvfile import KvWriter

        return KvWriter
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
