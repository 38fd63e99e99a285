"""The page of a partitioned net: one HTML file with the cut and the uncut net, the traffic, and a step to play."""

from __future__ import annotations

__all__ = ["job_page", "page_content", "page_file"]
