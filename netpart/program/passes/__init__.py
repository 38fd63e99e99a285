"""Instructions to better instructions."""

__all__ = ["buffer_sharing", "fusion", "overlap_updates", "postpone_weight_gradients", "recompute", "update_early"]
