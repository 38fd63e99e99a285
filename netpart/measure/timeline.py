"""Timeline: what each worker did and when, in a run that was traced or simulated. Drawings and figures are made from
it.

An instant of a worker belongs to the event that began last. So a wait within a receive counts as a wait. A message of a
collective that is sent while the worker waits for that collective counts as sending.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

Interval = tuple[float, float]
Key = tuple[int, ...]

READ = "read"
FORWARD = "forward"
BACKWARD = "backward"
UPDATE = "update"
MOVE = "move"
TALK = "talk"
WAIT = "wait"
STEP = "step"
KINDS = {
    "read": READ, "forward": FORWARD, "backward": BACKWARD, "update": UPDATE, "send": TALK,
    "receive": TALK, "start": TALK, "wait": WAIT, "step": STEP,
}  # fmt: skip
"""The kind of event for each verb. Every other verb copies, adds or clears within the worker."""
BUSY = (READ, FORWARD, BACKWARD, UPDATE, MOVE)
"""The kinds that can overlap with messages in flight."""


class TimelineEvent(NamedTuple):
    """What ``worker`` did in ``step`` from ``start`` to ``end``, in seconds on one clock for all workers.

    ``text`` is a verb and its object. ``channel`` is that of the message that was sent or received, else (); the
    message's mini-batch began ``delay`` steps earlier. ``micro`` is the micro-batch that is computed, -1 if a step has
    only one.
    """

    worker: int
    step: int
    text: str
    start: float
    end: float
    channel: Key = ()
    delay: int = 0
    micro: int = -1

    @property
    def verb(self) -> str:
        return self.text.partition(" ")[0]

    @property
    def object(self) -> str:
        """The object of the verb: "conv1", "bucket 0"."""
        return self.text.partition(" ")[2]

    @property
    def part(self) -> str:
        """The part that is its object: conv1 for conv1+relu1, a convolution that also computes an activation."""
        return self.object.partition("+")[0]

    @property
    def kind(self) -> str:
        """READ, FORWARD, BACKWARD, UPDATE, MOVE, TALK, WAIT or STEP."""
        return KINDS.get(self.verb, MOVE)

    @property
    def message(self) -> tuple[int, Key]:
        """The key that both ends of a message share: the step in which its mini-batch began, and the channel."""
        return self.step - self.delay, self.channel

    @property
    def interval(self) -> Interval:
        return self.start, self.end

    @property
    def seconds(self) -> float:
        """Duration of the event."""
        return self.end - self.start


class TimelineMessage(NamedTuple):
    """A message: the event that sent it and the event that received it."""

    sent: TimelineEvent
    taken: TimelineEvent


@dataclass(frozen=True)
class Timeline:
    """All events of ``workers`` workers. Events of one worker do not overlap, except that one may be nested in
    another.

    If workers are alike, ``models`` has the worker whose events are those of each worker. Then ``origins`` has, by the
    channel of a message to a model, that of the model's message that stands for it.
    """

    workers: int
    events: tuple[TimelineEvent, ...]
    models: tuple[int, ...] = ()
    origins: Mapping[Key, Key] = field(default_factory=dict)

    @cached_property
    def steps(self) -> tuple[int, ...]:
        """Numbers of the steps, in order."""
        return tuple(sorted({event.step for event in self.events}))

    @cached_property
    def messages(self) -> tuple[TimelineMessage, ...]:
        """Every message that was both sent and received."""
        sent = {e.message: e for e in self.events if e.verb == "send" and e.channel}
        taken = [(self.origin_of(e), e) for e in self.events if e.verb == "receive"]
        return tuple(TimelineMessage(sent[key], e) for key, e in taken if key in sent)

    def origin_of(self, event: TimelineEvent) -> tuple[int, Key]:
        """The key of the message that an event received, at its sender."""
        step, channel = event.message
        return step, self.origins.get(channel, channel)

    def model(self, worker: int) -> int:
        """The worker whose events are those of ``worker``."""
        return self.models[worker] if self.models else worker

    @cached_property
    def messages_to(self) -> dict[tuple[int, int], list[TimelineMessage]]:
        """``messages``, by the worker that received them, and the step."""
        found: dict[tuple[int, int], list[TimelineMessage]] = defaultdict(list)
        for message in self.messages:
            found[message.taken.worker, message.taken.step].append(message)
        return found

    @cached_property
    def _by_worker(self) -> dict[int, list[TimelineEvent]]:
        """The events of each worker, in their order."""
        found: dict[int, list[TimelineEvent]] = defaultdict(list)
        for event in self.events:
            found[event.worker].append(event)
        return found

    def of_step(self, step: int) -> Timeline:
        """The events of one step."""
        return replace(self, events=tuple(e for e in self.events if e.step == step))

    def of_worker(self, worker: int) -> list[TimelineEvent]:
        """The events of one worker by their start; an event comes before those nested in it."""
        # An event is noted when it ends, so an outer one follows its inner ones. For equal times, sorting the reversed
        # list, which is stable, puts the outer one first.
        found = self._by_worker.get(worker, [])[::-1]
        return sorted(found, key=lambda e: (e.start, -e.end))

    def seconds(self, step: int) -> float:
        """Duration of a step on the worker that took longest."""
        return max((e.seconds for e in self.events if e.step == step and e.kind == STEP), default=0.0)

    def __repr__(self) -> str:
        return f"Timeline({self.workers} workers, {len(self.steps)} steps, {len(self.events)} events)"


def own_seconds(events: Iterable[TimelineEvent]) -> dict[str, float]:
    """Seconds by kind of the events of one worker, in the order of ``Timeline.of_worker``. No instant counts twice."""
    found = defaultdict[str, float](float)
    within = list[TimelineEvent]()
    for event in events:
        while within and within[-1].end <= event.start:
            within.pop()
        if within:
            # The enclosing event has already counted this time as its own.
            found[within[-1].kind] -= event.seconds
        found[event.kind] += event.seconds
        within.append(event)
    return found


def travel_intervals(timeline: Timeline, worker: int, step: int) -> list[Interval]:
    """When a message to ``worker``, or one that it sends, was in flight during ``step``.

    A message counts from the start of its send until it was received. A collective counts from its start until it was
    complete, once in each micro-batch.
    """
    events = sorted((e for e in timeline.of_worker(worker) if e.step == step), key=lambda e: e.start)
    found = [e.interval for e in events if e.verb == "send"]
    begun = defaultdict[str, list[float]](list)
    awaited = Counter[str]()
    for e in events:
        if e.verb == "start":
            begun[e.object].append(e.start)
        elif e.verb == "wait" and (starts := begun[e.object]):
            found.append((starts[min(awaited[e.object], len(starts) - 1)], e.end))
            # The n-th wait for a collective belongs to its n-th start: one start per micro-batch.
            awaited[e.object] += 1
    arrived = timeline.messages_to.get((worker, step), [])
    return merge_intervals(found + [(min(m.sent.start, m.taken.end), m.taken.end) for m in arrived])


def merge_intervals(intervals: Iterable[Interval]) -> list[Interval]:
    """The union of ``intervals`` as disjoint intervals, in order."""
    found: list[Interval] = []
    for start, end in sorted(intervals):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((start, end))
    return found


def intersect_intervals(first: list[Interval], second: list[Interval]) -> Iterator[Interval]:
    """The intersection of two unions of disjoint, sorted intervals."""
    i = j = 0
    while i < len(first) and j < len(second):
        start = max(first[i][0], second[j][0])
        end = min(first[i][1], second[j][1])
        if start < end:
            yield start, end
        if first[i][1] < second[j][1]:
            i += 1
        else:
            j += 1


def total_length(intervals: Iterable[Interval]) -> float:
    """Seconds of disjoint intervals."""
    return sum(end - start for start, end in intervals)
