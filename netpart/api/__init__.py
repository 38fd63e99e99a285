"""The functions of the Python API, one in each module; the package netpart imports them when they are first used."""

__all__ = [
    "build", "check", "diff", "draw", "evaluate", "explain", "gradcam", "load", "look", "partition", "plan", "predict",
    "profile", "run", "sample", "save_plan", "simulate", "verify",
]  # fmt: skip
