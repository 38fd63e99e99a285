"""Files of records."""

__all__ = [
    "csv_check",
    "csv_classes",
    "csv_decode",
    "csv_fields",
    "csv_store",
    "datum",
    "decode",
    "kvfile",
    "lmdb_store",
    "mean",
    "mnist_format",
    "record",
    "record_store",
    "rows",
    "store",
    "textfile",
]
