"""The coordinator: it starts, monitors and stops the workers of a run."""

__all__ = [
    "conversation",
    "coordinator",
    "elastic_coordinator",
    "job_cutter",
    "oversubscribed_hosts",
    "summary",
    "watchdog",
]
