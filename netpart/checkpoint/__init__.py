"""Checkpoints: safetensors files that many processes read and write by region."""

__all__ = ["checksums", "gathered_writes", "header", "regions", "runs", "safetensors_file", "steps", "verdict_state"]
