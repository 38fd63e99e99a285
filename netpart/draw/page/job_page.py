"""The page of a job: its training net, cut and uncut, in one HTML file."""

from __future__ import annotations

from math import inf
from typing import Any

from netpart.choices import TRAIN
from netpart.draw.job_drawings import job_nesting
from netpart.draw.page.page_content import PageSource, page_content
from netpart.draw.page.page_file import make_page_parts
from netpart.graph.partition import Partition
from netpart.plan.partition import partition_by_scheme, partition_phase
from netpart.proto.reader import Job


def draw_job_page(job: Job) -> str:
    """The HTML page of the training net of ``job``. Raises ConfigError as the partition does."""
    content = job_page_content(job)
    return make_page_parts(content, content["about"]["title"]).html()


def job_page_content(job: Job) -> dict[str, Any]:
    """What the page of ``job`` shows, as ``page_content`` has it. Raises ConfigError as the partition does."""
    with job.explaining():
        cut = partition_by_scheme(job.proto, job.worker_count, job.folder)
        return page_content(page_source(cut, job))


def page_source(cut: Partition, job: Job | None, seconds: float = inf) -> PageSource:
    """What a page of ``cut`` shows, whose layouts may take ``seconds``; ``job`` is that of the cut, if it is known.

    A run cuts each micro-batch; what is drawn is the whole mini-batch, as in all drawings.
    """
    if job is None:
        return PageSource(cut.graph, cut, {}, None, seconds)
    several = len(cut.phases[TRAIN]) > 1
    graph = partition_phase(job.proto, cut.cluster.workers, TRAIN, job.folder) if several else cut.graph
    return PageSource(graph, cut, job_nesting(job, graph), job.folder, seconds)
