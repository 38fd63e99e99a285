"""What workers send, and when."""

__all__ = ["communication", "deadlock_check", "wire_memory"]
