"""Reports of a run to its user: events, metrics, warnings and the summary."""

__all__ = [
    "background_call",
    "earlier_runs",
    "event_lines",
    "events",
    "predicted_volumes",
    "queued_listener",
    "run_description",
    "run_listeners",
    "run_record",
    "speedup",
    "tensorboard_events",
    "watch_events",
    "workspace",
]
