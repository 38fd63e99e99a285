"""Files of records."""

__all__ = [
    "csv_classes",
    "csv_decode",
    "csv_fields",
    "csv_store",
    "datum",
    "decode",
    "mean",
    "mnist_format",
    "record",
    "record_store",
    "rows",
    "store",
    "textfile",
]
