"""Runs that are only timed, the profiles and drawings of their times, and looks at their data."""

__all__ = [
    "class_counts",
    "data_look",
    "data_waits",
    "epoch_size",
    "planning_prices",
    "profile",
    "propose_plans",
    "row_look",
    "row_pictures",
    "run_curves",
    "simulated_job",
    "step_profile",
    "timeline",
    "value_statistics",
]
