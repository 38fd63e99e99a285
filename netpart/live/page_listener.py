"""The listener "page": a run to watch in a browser of this host."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from secrets import token_urlsafe
from time import monotonic
from typing import Any

from netpart.errors import ConfigError
from netpart.launch.report.background_call import BackgroundCall
from netpart.launch.report.events import Ended, Halted, Joined, Judged, Measured, Noticed, Saved, Staleness, Started
from netpart.launch.report.queued_listener import RunFailed
from netpart.launch.report.run_description import RunDescription
from netpart.launch.report.watch_events import StepSampled, WatchEvent, WorkerPositions
from netpart.live.metrics_text import metrics_text
from netpart.live.page_server import PageServer
from netpart.live.run_feed import RunFeed
from netpart.live.run_graph import graph_bytes
from netpart.live.run_page import build_run_page
from netpart.live.step_bars import step_chart
from netpart.units import plural_text

LONG = ("bytes_by_edge", "step_seconds")
"""Fields of a summary that are too long for the page."""


@contextmanager
def page_listener(run: RunDescription) -> Iterator[PageEvents]:
    """Serve the page of ``run`` on 127.0.0.1 until the run has ended. ``run.argument`` is the port, "" a free one.

    Raises ConfigError if the argument is not a port, the port is in use, or the workers of the run may change: the page
    describes those of the first team.
    """
    if run.partition.job.HasField("elastic"):
        hint = "omit one of them; metrics.jsonl and --tensorboard follow a run whose workers change"
        raise ConfigError("--page", "a run that is not elastic", "--elastic", hint)
    feed = RunFeed()
    events = PageEvents(feed)
    port = parse_port(run.argument)
    # Computed when a page asks for it: a run that nobody looks at does not pay for a layout.
    graph = BackgroundCall(lambda: graph_bytes(run), "netpart-graph")
    page, token = build_run_page(run), token_urlsafe(24)
    with PageServer(port, token, page, feed, lambda: metrics_text(feed), graph.request) as server:
        run.say(f"watch this run at {server.url}")
        try:
            yield events
        except RunFailed as failed:
            events.fail(failed)


def parse_port(text: str) -> int:
    """The number of a port; 0 for "". Raises ConfigError."""
    if not text:
        return 0
    if not (text.isascii() and text.isdigit() and int(text) < 1 << 16):
        raise ConfigError("--page", "a port, 0 to 65535", repr(text), "omit it for a free one")
    return int(text)


class PageEvents:
    """Takes the events of a run and puts what they say into ``feed``. It ``watches``: it also takes positions and
    sampled steps."""

    watches = True

    def __init__(self, feed: RunFeed) -> None:
        self.feed = feed
        self.opened = monotonic()

    def __call__(self, event: WatchEvent) -> None:
        """Take one event."""
        match event:
            case Started():
                self.feed.put(run=asdict(event))
                self._add_line(f"{plural_text(event.workers, 'worker')} ready, {plural_text(event.steps, 'step')}")
            case Measured():
                self._add_metrics(event)
            case WorkerPositions():
                self.feed.put(positions=[_position_row(each) for each in event.workers])
            case StepSampled():
                self._add_step(event)
            case Staleness():
                self.feed.put(staleness=asdict(event))
            case Ended():
                self._end({"summary": _short_summary(event)})
            case _:
                self._add_line(_event_words(event))

    def fail(self, failed: RunFailed) -> None:
        """The run has failed."""
        self._add_line(str(failed), "error")
        self._end({"failed": str(failed), "rank": failed.rank})

    def _end(self, end: dict[str, Any]) -> None:
        self.feed.put(end=end)

    def _add_line(self, text: str, kind: str = "note") -> None:
        if text:
            self.feed.add_line(monotonic() - self.opened, text, kind)

    def _add_metrics(self, event: Measured) -> None:
        values = event.metrics | ({"samples_per_second": event.samples_per_second} if event.phase == "train" else {})
        self.feed.add_points({
            f"{event.phase}/{name}": (event.step, round(event.seconds, 3), value) for name, value in values.items()
        })  # fmt: skip
        shown = ", ".join(f"{name} = {value:.6g}" for name, value in event.metrics.items())
        self._add_line(f"{event.phase} at step {event.step}: {shown}")

    def _add_step(self, event: StepSampled) -> None:
        """Show a sampled step, and what its workers have sent and hold."""
        workers = event.workers
        self.feed.update(
            charts={str(event.group): step_chart(event)},
            memory={str(each.rank): (each.resident, each.grown) for each in workers},
            sent={f"{each.rank} → {target}": nbytes for each in workers for target, nbytes in each.sent_to.items()},
        )


def _position_row(at: Any) -> list[Any]:
    return [at.rank, at.phase, at.step, at.doing, round(at.silent, 1)]


def _short_summary(event: Ended) -> dict[str, Any]:
    """The summary without its long fields."""
    return {name: value for name, value in asdict(event.summary).items() if name not in LONG}


def _event_words(event: WatchEvent) -> str:
    """The line of the log about an event, "" for one without."""
    match event:
        case Noticed():
            return event.text
        case Saved():
            return f"saved {event.path}"
        case Judged():
            return f"{event.decides} at step {event.step}, {event.metric}: {event.reason}"
        case Halted():
            return f"ends at step {event.step}: {event.reason}"
        case Joined():
            return f"worker {event.rank} joined ({event.where})"
    return ""
