"""What a trained net says."""

__all__ = ["gradcam", "pointing_game", "sampling"]
