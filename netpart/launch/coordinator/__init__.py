"""Starts, watches and ends the workers of a run."""

__all__ = ["conversation", "coordinator", "crowded_hosts", "summary", "watch"]
