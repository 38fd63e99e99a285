"""Search for the best cut."""

__all__ = [
    "link_levels",
    "pipelines",
    "planners",
    "portfolio",
    "proposal",
    "simulated_rows",
    "task",
]
