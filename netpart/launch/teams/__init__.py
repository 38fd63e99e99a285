"""Launchers of the workers: as processes of this host, by MPI, by joining, by Ray, or as threads."""

__all__ = [
    "exit_status",
    "launcher_environment",
    "meeting",
    "mpi",
    "processes",
    "ray_team",
    "team",
    "threads",
]
