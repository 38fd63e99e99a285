"""Snapshots of an elastic run: copies of regions in the memory of two workers, and how they are sent and read."""

__all__ = ["duties", "forecast", "reader", "region_secret", "regions", "schedule", "service", "store"]
