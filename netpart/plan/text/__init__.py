"""A plan as text: tables, explanations, differences and advice."""

__all__ = [
    "advice",
    "alike_alternatives",
    "alternatives",
    "diff",
    "explain",
    "helper_reasons",
    "plan_file",
    "plan_table",
    "write_plan",
]
