"""The order of micro-batches and stages."""

__all__ = ["delayed_pipeline", "delays", "schedule", "stages"]
