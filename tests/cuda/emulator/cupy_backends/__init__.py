"""What netpart uses of CuPy's own packages."""
