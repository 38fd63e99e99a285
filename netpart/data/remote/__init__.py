"""Data at URLs: read by ranges through fsspec, and kept in blocks on disk."""

__all__ = [
    "attempts",
    "block_cache",
    "file_systems",
    "url_bytes",
    "url_listing",
    "url_path",
    "whole_files",
]
