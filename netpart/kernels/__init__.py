"""Kernels: what computes on arrays, one file per verb."""

__all__ = [
    "activation",
    "arguments",
    "arrays",
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
    "reference_channels_last",
    "updates",
    "verbs",
    "vocabulary",
]
