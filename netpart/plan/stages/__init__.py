"""Stages of a pipeline: which layers each computes, and on how many workers of each host."""

__all__ = [
    "device_levels",
    "device_stages",
    "downsets",
    "link_levels",
    "pipeline_stages",
    "priced_stages",
    "stage_search",
]
