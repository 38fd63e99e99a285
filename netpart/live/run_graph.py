"""The graph of a run for its page: computed when a page first asks for it, so that a run which nobody looks at does not
pay for its layout."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from threading import Lock, Thread

from netpart.choices import TRAIN
from netpart.errors import ConfigError
from netpart.launch.report.run_description import RunDescription

MOST_PARTS = 20_000
"""Largest number of parts of a graph that is drawn. The layout of a larger one takes minutes."""


class BackgroundText:
    """The bytes that ``compute`` returns, on a thread of their own."""

    def __init__(self, compute: Callable[[], bytes]) -> None:
        self._compute = compute
        self._lock = Lock()
        self._found: Future[bytes] | None = None

    def request(self) -> Future[bytes]:
        """The bytes, or the error of computing them, once they are known; the first call starts the thread."""
        with self._lock:
            if self._found is None:
                self._found = Future()
                # A daemon: the end of the run does not wait for a drawing.
                Thread(target=self._fill, args=(self._found,), name="netpart-graph", daemon=True).start()
            return self._found

    def _fill(self, found: Future[bytes]) -> None:
        try:
            found.set_result(self._compute())
        except BaseException as error:
            found.set_exception(error)


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
