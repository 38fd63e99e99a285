"""The order of micro-batches and stages."""

__all__ = ["delayed_rehearsal", "delays", "schedule", "stages"]
