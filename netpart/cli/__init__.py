"""The command line: a module for each verb."""

__all__ = ["main"]
