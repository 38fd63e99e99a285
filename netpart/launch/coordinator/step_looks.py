"""StepLooks: asks the workers of one group, now and then, to trace one step, and joins their answers.

All of them have to trace the same step, so it is one that none has begun: a few steps after the latest that a heartbeat
has reported. An answer costs about ANSWER_SECONDS, and ACTION_SECONDS for each action, for the worker that records and
encodes it and for the process that reads it. The time between two requests is so long that this is at most SHARE of the
run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from math import ceil, isfinite
from typing import Any

from netpart.launch.control.framing import refuse_garbled
from netpart.launch.coordinator.watchdog import MemberRecord
from netpart.launch.report.watch_events import SampledAction, SampledWorker, StepSampled
from netpart.proto.control_pb2 import ControlProto, LookProto, TraceProto

SHARE = 0.0015
"""Largest share of the time of a run that traces of single steps take."""
ANSWER_SECONDS = 5e-3
ACTION_SECONDS = 10e-6
REST_SECONDS = 1.0
"""Time between two requests before the first answer."""
PATIENCE_SECONDS = 30.0
"""After this time without all answers, a request is forgotten."""
LEAD_SECONDS = 0.5
"""How far ahead of the latest heartbeat the step is: a heartbeat may be 0.25 s old."""
LONGEST_LEAD = 100_000
MOST_ACTIONS = 1_000_000
"""Largest number of actions that one worker may report."""

FindEdge = Callable[[tuple[int, ...]], tuple[str, int]]
"""The name of an edge and the rank that receives, by the rank that sends and the channel."""


class StepLooks:
    """Requests to ``members``, the workers of ``group``, through ``send``; ``listener`` receives each sampled step."""

    def __init__(
        self, group: int, members: list[MemberRecord], send: Callable[[MemberRecord, ControlProto], None],
        listener: Callable[[StepSampled], None], find_edge: FindEdge,
    ) -> None:  # fmt: skip
        self.group = group
        self.members = members
        self.send = send
        self.listener = listener
        self.find_edge = find_edge
        self.asked_at: float | None = None
        self.due = 0.0
        self.rest = REST_SECONDS
        self.lead = 2
        self.answers: dict[int, TraceProto] = {}
        self.rated: tuple[float, int] | None = None
        self.rate = 0.0

    def look(self, now: float) -> None:
        """Ask for a step if one is due at ``now``, in seconds of the monotonic clock."""
        step = max(m.beat.step for m in self.members)
        self._rate_steps(now, step)
        if self.asked_at is not None and now - self.asked_at > PATIENCE_SECONDS:
            self._rest(now)
        # All must be in a training step: one that is still compiling would answer much later than the others.
        if self.asked_at is None and now >= self.due and all(m.beat.phase == "train" for m in self.members):
            self._ask(now, step + self.lead + ceil(self.rate * LEAD_SECONDS))

    def _rate_steps(self, now: float, step: int) -> None:
        """Measure the steps a second, over at least half a second."""
        if self.rated is None:
            self.rated = (now, step)
        elif now - self.rated[0] >= LEAD_SECONDS:
            self.rate = max(0.0, (step - self.rated[1]) / (now - self.rated[0]))
            self.rated = (now, step)

    def _ask(self, now: float, step: int) -> None:
        self.asked_at = now
        self.answers = {}
        for member in self.members:
            self.send(member, ControlProto(look=LookProto(step=step)))

    def _rest(self, now: float) -> None:
        self.asked_at = None
        self.due = now + self.rest

    def take(self, member: MemberRecord, trace: TraceProto, now: float) -> None:
        """Take the answer of one worker. Pass the step on when all have answered for the same one."""
        if self.asked_at is None:
            return  # an answer to a request that was forgotten
        self.answers[member.rank] = trace
        if len(self.answers) < len(self.members):
            return
        if len({answer.step for answer in self.answers.values()}) > 1:
            self.lead = min(2 * self.lead, LONGEST_LEAD)  # the request came too late for some
            return self._rest(now)
        with refuse_garbled("trace"):
            sampled = tuple(self._sampled_worker(rank) for rank in sorted(self.answers))
        actions = sum(len(each.actions) for each in sampled)
        self.rest = (ANSWER_SECONDS + actions * ACTION_SECONDS) / SHARE
        self._rest(now)
        self.listener(StepSampled(self.group, int(trace.step), sampled))

    def _sampled_worker(self, rank: int) -> SampledWorker:
        """The answer of worker ``rank`` as values. Raises ValueError or LookupError for one that cannot be meant."""
        trace = self.answers[rank]
        sent, sent_to = Counter[str](), Counter[int]()
        for count in trace.sent:
            name, target = self.find_edge((rank, *count.channel))
            if count.bytes:  # a worker also says, without a byte, that it has finished a step
                sent[name] += count.bytes
                sent_to[target] += count.bytes
        grown = trace.grown_bytes if trace.HasField("grown_bytes") else None
        return SampledWorker(rank, _decode_actions(trace), dict(sent), dict(sent_to), trace.resident_bytes, grown)


def _decode_actions(trace: TraceProto) -> tuple[SampledAction, ...]:
    """The actions of ``trace``. Raises ValueError or LookupError for ones that cannot be meant."""
    if len(trace.index) > MOST_ACTIONS:
        raise ValueError(f"expected at most {MOST_ACTIONS} actions in a step, got {len(trace.index)}")
    rows: Any = zip(trace.index, trace.start, trace.end, strict=True)
    found = tuple(SampledAction(trace.what[index].name, start, end) for index, start, end in rows)
    if not all(isfinite(each.start) and isfinite(each.end) and each.start <= each.end for each in found):
        raise ValueError("expected actions that end after they start")
    return found
