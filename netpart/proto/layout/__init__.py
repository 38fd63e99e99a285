"""The layout of a job's text: its lines, indentation, spaces and comments, without its meaning."""

__all__ = ["format_text"]
