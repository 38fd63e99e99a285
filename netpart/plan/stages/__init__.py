"""Stages of a pipeline: which layers each computes, and on how many workers of each host."""

__all__ = ["link_levels", "pipeline_stages", "stage_search"]
