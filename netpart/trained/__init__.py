"""Predictions, explanations and samples computed with a trained net."""

__all__ = [
    "array_source",
    "gradcam",
    "pointing_game",
    "prediction",
    "prediction_files",
    "prediction_job",
    "prediction_source",
    "sampling",
]
