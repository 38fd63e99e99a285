"""The functions of the Python API, one in each module; the package netpart imports them when they are first used."""

__all__ = [
    "build", "check", "diff", "evaluate", "explain", "load", "partition", "plan", "predict", "run", "save_plan",
    "simulate", "verify",
]  # fmt: skip
