"""Blocks of published nets, for nets that are written in Python."""

__all__: list[str] = []
