"""Kernels: what computes on arrays, one file per verb."""

__all__ = [
    "activation",
    "arrays",
    "beside",
    "choose",
    "confusion",
    "counting",
    "device",
    "flops",
    "gates",
    "op",
    "philox",
    "pooling",
    "reference",
    "updates",
    "verbs",
    "vocabulary",
]
