"""Kernels for an NVIDIA GPU: CUDA C that is compiled when first used, cuBLAS and cuDNN.

Nothing here is imported before a job uses a GPU: it needs CuPy.
"""

__all__ = ["dnn", "kernels"]
