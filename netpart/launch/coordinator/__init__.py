"""Starts, watches and ends the workers of a run."""

__all__ = ["conversation", "coordinator", "oversubscribed_hosts", "summary", "watchdog"]
