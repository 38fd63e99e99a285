"""The listener "tensorboard": metrics, the job and its drawing in an event file, which TensorBoard shows.

Uses tensorboardX, for the format alone: its own writer has a thread and pickles, so events go straight to its file.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from pathlib import Path
from time import time
from typing import TYPE_CHECKING, Any

from netpart.errors import ConfigError, NetpartError
from netpart.launch.report.background_call import BackgroundCall
from netpart.launch.report.events import Event, Listener, Measured, Started
from netpart.launch.report.run_description import RunDescription

if TYPE_CHECKING:
    from netpart.graph.graph import Graph

DRAWN = 4000
"""Largest number of parts that are drawn, with repeated blocks folded. The layout of a larger graph takes too long."""
DRAWING_SECONDS = 20.0
"""How long the end of a run waits for its drawing; less than its patience with listeners."""


@contextmanager
def tensorboard_events(run: RunDescription) -> Iterator[Listener]:
    """Write the events of ``run`` to a file in the folder ``run.argument``, or else in its workspace.

    Scalars are named PHASE/LAYER/METRIC, as in ``train/loss/accuracy``. Raises ConfigError without tensorboardX.
    """
    folder = Path(run.argument or run.workspace)
    folder.mkdir(parents=True, exist_ok=True)
    file = EventFile(folder, run)
    try:
        yield file.hear
    finally:
        file.close()


class EventFile:
    """A new file of TensorBoard's events about ``run`` in ``folder``."""

    def __init__(self, folder: Path, run: RunDescription) -> None:
        try:
            from tensorboardX import event_file_writer, proto, summary
            from tensorboardX.proto import event_pb2, summary_pb2  # noqa: F401 - makes it an attribute of proto
        except ImportError as error:
            hint = "`pip install 'netpart[tensorboard]'`"
            raise ConfigError("--tensorboard", "the package tensorboardX", str(error), hint) from error
        self.proto = proto
        self.summary = summary
        self.run = run
        self.drawing: Future[bytes] | None = None
        self.writer = event_file_writer.EventsWriter(str(folder / "events"))
        # This withdraws what an interrupted run has written of the steps that a resumed one repeats.
        start = event_pb2.SessionLog.START
        self.write(run.first_step, session_log=event_pb2.SessionLog(status=start))

    def hear(self, event: Event) -> None:
        """Write the job when the run starts, the metrics of each report, and the drawing as soon as it is there."""
        if isinstance(event, Started):
            self.add_job()
            self.start_drawing(self.run.partition.graph)
        if isinstance(event, Measured):
            found = event.metrics | {"samples_per_second": event.samples_per_second}
            for name, value in found.items():
                self.write(event.step, summary=self.summary.scalar(f"{event.phase}/{name}", value))
        if self.drawing is not None and self.drawing.done():
            self.add_drawing()
        self.writer.flush()

    def add_job(self) -> None:
        """Write the text of the job."""
        # Markdown shows lines that begin with four spaces as they are.
        text = "".join(f"    {line}\n" for line in self.run.job_text.splitlines())
        self.write(self.run.first_step, summary=self.summary.text("job", text))

    def start_drawing(self, graph: Graph) -> None:
        """Let a thread draw ``graph``, unless it is too large: metrics do not wait for the layout."""
        if len(graph.parts) <= DRAWN:
            self.drawing = BackgroundCall(lambda: draw_graph_png(graph), "netpart-drawing").request()

    def add_drawing(self, seconds: float = 0.0) -> None:
        """Write the drawing as an image, if it is there within ``seconds``, and nothing that draws it was missing."""
        drawing, self.drawing = self.drawing, None
        if drawing is None:
            return
        with suppress(NetpartError, TimeoutError):  # metrics need no Graphviz
            png = drawing.result(seconds)
            width, height = struct.unpack(">II", png[16:24])  # the first chunk of a PNG file begins with them
            image = self.proto.summary_pb2.Summary.Image(width=width, height=height, encoded_image_string=png)
            value = self.proto.summary_pb2.Summary.Value(tag="graph", image=image)
            self.write(self.run.first_step, summary=self.proto.summary_pb2.Summary(value=[value]))

    def write(self, step: int, **content: Any) -> None:
        """Write one event at ``step``, with the time of now."""
        self.writer.write_event(self.proto.event_pb2.Event(wall_time=time(), step=step, **content))

    def close(self) -> None:
        """Wait a while for the drawing, write what is buffered, and close the file."""
        try:
            self.add_drawing(DRAWING_SECONDS)
        finally:
            self.writer.close()


def draw_graph_png(graph: Graph) -> bytes:
    """The drawing of ``graph`` as a PNG file. Raises NetpartError without Graphviz, or without what prints an SVG."""
    from netpart.draw.printed import print_svg
    from netpart.draw.svg import to_svg

    return print_svg(to_svg(graph), "png")
