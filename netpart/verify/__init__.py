"""Verification that a cut net computes the same as the uncut one."""

__all__ = ["compare", "report"]
