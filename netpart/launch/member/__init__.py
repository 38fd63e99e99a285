"""One worker process, from its first message to its last."""

__all__ = ["checkpoint_files", "join", "member", "tracing"]
