"""The optimal cut: for each layer one of all placements, chosen jointly for the predicted step, with a bound."""

__all__ = ["chosen_scheme", "optimal_scheme", "plan_prices", "search_plans", "staged_plans"]
