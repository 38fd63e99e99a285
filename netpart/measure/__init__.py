"""Runs that are only timed, the profiles and drawings of their times, and looks at their data."""

__all__ = [
    "chrome_trace",
    "class_counts",
    "data_look",
    "data_waits",
    "epoch_size",
    "host_calibration",
    "layer_seconds",
    "other_load",
    "profile",
    "row_look",
    "row_pictures",
    "simulate",
    "step_profile",
    "value_statistics",
]
