"""Runs that are only timed, and the profiles and drawings of their times."""

__all__ = ["chrome_trace", "layer_seconds", "link_speed", "profile", "simulate", "step_profile"]
