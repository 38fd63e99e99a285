"""Search for the best cut."""

__all__ = [
    "pipelines",
    "planners",
    "portfolio",
    "proposal",
    "simulated_rows",
    "task",
]
