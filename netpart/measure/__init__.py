"""Runs that are only timed, and what their times show."""

__all__ = ["chrome_trace", "layer_seconds", "link_speed", "profile", "simulate", "step_profile"]
