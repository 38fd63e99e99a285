"""What a run reports to people."""

__all__ = ["earlier_runs", "event_lines", "events", "predicted_volumes", "run_record", "speedup", "workspace"]
