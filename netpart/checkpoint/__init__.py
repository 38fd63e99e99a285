"""Checkpoints: safetensors files that many processes read and write by region."""

__all__ = ["regions", "safetensors_file", "steps", "verdict_state"]
