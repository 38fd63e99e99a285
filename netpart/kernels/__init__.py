"""Kernels: functions that compute on arrays, one file per operation ("verb")."""

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
