"""Data at URLs: read by ranges through fsspec, and kept in blocks on disk."""

__all__ = ["url_bytes", "url_listing", "url_path"]
