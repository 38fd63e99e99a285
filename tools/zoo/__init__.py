"""The families of nets that tools/make_zoo.py writes: one module per family, each with a function ``jobs``."""
