"""Proves that a cut net computes what the uncut one computes."""

__all__ = ["compare", "report"]
