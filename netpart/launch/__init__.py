"""Run of a job: its processes, from start to end."""

__all__ = ["evaluate", "restarts", "run", "run_options", "supervisor"]
