"""The optimal cut: for each layer one of all placements, chosen jointly for the predicted step, with a bound."""

__all__ = ["optimal_scheme", "search_plans"]
