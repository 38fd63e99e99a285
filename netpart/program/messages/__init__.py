"""Messages between workers: their pairs, memory, order and checks for deadlock."""

__all__ = ["communication", "deadlock_check", "translate_channels", "wire_memory"]
