"""Planning: the cost of a cut, and the search for a good one."""

__all__ = ["partition"]
