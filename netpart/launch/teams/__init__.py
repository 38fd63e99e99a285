"""How worker processes start."""

__all__ = ["launcher_environment", "meeting", "mpi", "processes", "team", "threads"]
