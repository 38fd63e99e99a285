"""Explanations and samples computed with a trained net."""

__all__ = ["gradcam", "pointing_game", "sampling"]
