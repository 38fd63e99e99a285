"""The page of a job: its training net, cut and uncut, in one HTML file."""

from __future__ import annotations

from typing import Any

from netpart.draw.job_drawings import job_nesting
from netpart.draw.page.page_content import PageSource, page_content
from netpart.draw.page.page_file import make_page_parts
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
        # A run cuts each micro-batch; what is drawn is the whole mini-batch, as in all drawings.
        several = len(cut.phases["train"]) > 1
        graph = partition_phase(job.proto, job.worker_count, "train", job.folder) if several else cut.graph
        return page_content(PageSource(graph, cut, job_nesting(job, graph), job.folder))
