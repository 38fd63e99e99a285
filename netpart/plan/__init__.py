"""What a cut costs, and which cut to take."""

__all__ = ["partition"]
