"""Kernels: functions that compute on arrays, one file per operation ("verb")."""

__all__ = [
    "activation",
    "arguments",
    "arrays",
    "bfloat16",
    "block_figures",
    "choose",
    "confusion",
    "counting",
    "device",
    "flops",
    "gates",
    "loss_arguments",
    "op",
    "philox",
    "pooling",
    "reference",
    "reference_channels_last",
    "updates",
    "verbs",
]
