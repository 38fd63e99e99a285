"""Launchers of the workers: as processes of this host, by MPI, by joining, or as threads."""

__all__ = ["launcher_environment", "meeting", "mpi", "processes", "team", "threads"]
