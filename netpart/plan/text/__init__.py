"""A plan as readers see it."""

__all__ = ["advice", "alternatives", "diff", "explain", "helper_reasons", "plan_table", "write_plan"]
