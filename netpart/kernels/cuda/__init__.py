"""Kernels of an NVIDIA GPU: CUDA C compiled when first used, cuBLAS and cuDNN.

Nothing here is imported before a GPU is asked for: importing it needs CuPy.
"""

__all__ = ["dnn", "kernels"]
