"""One worker, from hello to farewell."""

__all__ = ["checkpoint_files", "join", "member", "tracing"]
