"""The graph of a run for its page."""

from __future__ import annotations

from netpart.choices import TRAIN
from netpart.errors import ConfigError
from netpart.launch.report.run_description import RunDescription

MOST_PARTS = 20_000
"""Largest number of parts of a graph that is drawn. The layout of a larger one takes minutes."""


def graph_bytes(run: RunDescription) -> bytes:
    """The content of the graph of ``run`` as its page reads it: JSON, gzip, base64. Raises ConfigError for a graph that
    is too large, or without Graphviz."""
    from netpart.draw.job_drawings import job_nesting
    from netpart.draw.page.page_content import PageSource, page_content
    from netpart.draw.page.page_file import pack_content
    from netpart.plan.partition import partition_phase

    cut, job = run.partition, run.job
    if len(cut.graph.parts) > MOST_PARTS:
        hint = "draw it with netpart draw --fold auto"
        raise ConfigError("the graph of this run", f"at most {MOST_PARTS:,} parts", f"{len(cut.graph.parts):,}", hint)
    graph = cut.graph
    if job is not None and len(cut.phases[TRAIN]) > 1:  # of micro-batches the whole mini-batch is drawn
        graph = partition_phase(job.proto, cut.cluster.workers, TRAIN, job.folder)
    nesting = job_nesting(job, graph) if job else {}
    return pack_content(page_content(PageSource(graph, cut, nesting, job.folder if job else None))).encode()
