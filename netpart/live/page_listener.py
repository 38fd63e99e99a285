"""The listener "page": a run to watch in a browser of this host."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import asdict
from itertools import islice
from secrets import token_urlsafe
from time import monotonic
from typing import Any

from netpart.errors import ConfigError, clip_text
from netpart.launch.report.background_call import BackgroundCall
from netpart.launch.report.events import (
    Ended,
    Halted,
    Joined,
    Judged,
    Measured,
    Noticed,
    Restarted,
    Saved,
    Staleness,
    Started,
)
from netpart.launch.report.queued_listener import RunFailed
from netpart.launch.report.run_description import RunDescription
from netpart.launch.report.watch_events import LastingEvent, NextAttempt, StepSampled, WorkerPositions
from netpart.live.metrics_text import metrics_text
from netpart.live.page_server import PageServer
from netpart.live.run_feed import LONGEST_LINE, RunFeed
from netpart.live.run_graph import graph_bytes
from netpart.live.run_page import build_run_page
from netpart.live.step_bars import step_chart
from netpart.units import plural_text

SHOWN = (
    "steps", "test", "validation", "train", "seconds", "train_seconds", "bytes_counted", "bytes_predicted", "stopped",
    "checkpoint",
)  # fmt: skip
"""Fields of a summary that the page shows: numbers, texts, and metrics by name."""
MOST_METRICS, LONGEST_NAME = 40, 200
"""Metrics of a phase in a summary, and characters of the name of one."""


@contextmanager
def page_listener(run: RunDescription) -> Iterator[PageEvents]:
    """Serve the page of ``run`` on 127.0.0.1 until its last attempt has ended. ``run.argument`` is the port, "" a free
    one.

    Raises ConfigError if the argument is not a port, the port is in use, or the workers of the run may change: the page
    describes those of the first team.
    """
    if run.partition.job.HasField("elastic"):
        hint = "omit one of them; metrics.jsonl and --tensorboard follow a run whose workers change"
        raise ConfigError("--page", "a run that is not elastic", "--elastic", hint)
    feed = RunFeed()
    events = PageEvents(feed, run)
    port = parse_port(run.argument)
    page, token = build_run_page(run), token_urlsafe(24)
    with PageServer(port, token, page, feed, lambda: metrics_text(feed), events.request_graph) as server:
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
    """Takes the events of ``run`` and puts what they say into ``feed``. It ``watches``: it also takes positions and
    sampled steps. It ``lasts``: it takes the events of all attempts."""

    watches = True
    lasts = True

    def __init__(self, feed: RunFeed, run: RunDescription) -> None:
        self.feed = feed
        self.opened = monotonic()
        self._take_attempt(run)

    def _take_attempt(self, run: RunDescription) -> None:
        """Draw the graph of ``run``, once a page asks for it: a run that nobody looks at does not pay for a layout."""
        self.graph = BackgroundCall(lambda: graph_bytes(run), "netpart-graph")

    def request_graph(self) -> Future[bytes]:
        """The graph of the present attempt, once it is laid out."""
        return self.graph.request()

    def __call__(self, event: LastingEvent) -> None:
        """Take one event."""
        match event:
            case Started():
                self.feed.put(run=asdict(event))
                self._add_line(f"{plural_text(event.workers, 'worker')} ready, {plural_text(event.steps, 'step')}")
            case NextAttempt():
                self._take_attempt(event.run)
            case Restarted():
                self._restart(event)
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
        self._end({"failed": clip_text(str(failed), LONGEST_LINE), "rank": failed.rank})

    def _end(self, end: dict[str, Any]) -> None:
        self.feed.put(end=end)

    def _add_line(self, text: str, kind: str = "note") -> None:
        if text:
            self.feed.add_line(monotonic() - self.opened, text, kind)

    def _restart(self, event: Restarted) -> None:
        """Attempt ``event.number`` has failed, and another one begins."""
        self._add_line(f"attempt {event.number} failed: {event.reason}", "error")
        self.feed.restart(event.step, number=event.number + 1, most=event.limit + 1, workers=event.workers)
        came = f"from step {event.step}, {event.checkpoint}" if event.checkpoint else "anew"
        self._add_line(f"attempt {event.number + 1} begins {came}, on {plural_text(event.workers, 'worker')}")

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
    """The fields of the summary that the page shows."""
    return {name: _short_value(getattr(event.summary, name)) for name in SHOWN}


def _short_value(value: Any) -> Any:
    """A value of a summary: metrics are the first MOST_METRICS of them, and no text is long."""
    if isinstance(value, dict):
        return {clip_text(name, LONGEST_NAME): each for name, each in islice(value.items(), MOST_METRICS)}
    return clip_text(value, LONGEST_LINE) if isinstance(value, str) else value


def _event_words(event: LastingEvent) -> str:
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
