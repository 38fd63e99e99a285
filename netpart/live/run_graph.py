"""The graph of a run for its page."""

from __future__ import annotations

from netpart.errors import ConfigError
from netpart.launch.report.run_description import RunDescription

LAYOUT_SECONDS = 120.0
"""Time in which a graph has to be laid out."""
MOST_PARTS = 20_000
"""Largest number of parts of a graph that is drawn. The layout of a larger one takes minutes."""


def graph_bytes(run: RunDescription) -> bytes:
    """The content of the graph of ``run`` as its page reads it: JSON, gzip, base64. Raises ConfigError for a graph that
    is too large, NetpartError without Graphviz and for a layout that takes too long."""
    from netpart.draw.page.job_page import page_source
    from netpart.draw.page.page_content import page_content
    from netpart.draw.page.page_file import pack_content

    cut = run.partition
    if len(cut.graph.parts) > MOST_PARTS:
        hint = "draw it with netpart draw --fold auto"
        raise ConfigError("the graph of this run", f"at most {MOST_PARTS:,} parts", f"{len(cut.graph.parts):,}", hint)
    return pack_content(page_content(page_source(cut, run.job, LAYOUT_SECONDS))).encode()
