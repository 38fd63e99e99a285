"""How many cores the kernels of a process use: their libraries read it from the environment when they are loaded."""

from __future__ import annotations

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""What OpenMP, OpenBLAS and MKL look at."""
