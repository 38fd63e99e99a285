"""Files of records."""

__all__ = ["decode", "mean", "mnist_format", "record", "record_store", "rows", "store"]
