"""A run: its processes, from start to end."""

__all__ = ["run"]
