"""The coordinator: it starts, monitors and stops the workers of a run."""

__all__ = ["conversation", "coordinator", "oversubscribed_hosts", "summary", "watchdog"]
