"""Arrays in files of NumPy and HDF5."""

__all__ = ["array_file", "array_rows", "numpy_header", "row_array", "token_corpus"]
