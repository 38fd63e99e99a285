"""Predictions, explanations and samples computed with a trained net."""

__all__ = ["gradcam", "pointing_game", "prediction", "prediction_files", "prediction_job", "sampling"]
