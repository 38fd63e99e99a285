"""Passes that rewrite the instructions of a Program to need less time or memory."""

__all__ = [
    "absorb_rotations",
    "buffer_sharing",
    "fusion",
    "overlap_updates",
    "postpone_weight_gradients",
    "recompute",
    "strip_gradients",
    "update_early",
]
