"""HaltBook: the step before which all workers of a run stop that is asked to save a checkpoint and end.

    signal ─▶ coordinator ── halt(step) ──▶ workers         a few steps after the newest one that is known
                          ◀─ reached ──────                  each trains on meanwhile
                          ── halt(step, final) ──▶           if no worker has passed it; else a later step is proposed

Workers that train one mini-batch together are never far apart, but none may stop earlier than another: it would leave
messages unanswered. So no step is final before all have confirmed it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from netpart.launch.coordinator.watchdog import MemberRecord
from netpart.launch.report.events import Halted, Hearer
from netpart.proto.control_pb2 import ControlProto, HaltProto

FIRST_LEAD = 2
"""Steps between the newest known one and the first that is proposed. It doubles with every proposal that comes late."""


class HaltBook:
    """The agreement of ``members``, by messages through ``send``, in a run that ends after ``end`` steps.

    ``request`` may be called at any moment, also by a signal handler. ``listener`` receives the event.
    """

    def __init__(
        self, members: Sequence[MemberRecord], end: int, send: Callable[[MemberRecord, ControlProto], None],
        listener: Hearer,
    ) -> None:  # fmt: skip
        self._members = members
        self._end = end
        self._send = send
        self._listener = listener
        self._requested = False
        self._final = False
        self._proposed = 0
        self._lead = FIRST_LEAD
        self._reached: dict[int, int] = {}

    def request(self) -> None:
        """Note that the run is to end."""
        self._requested = True

    def take_request(self, earlier: HaltBook) -> None:
        """Go on from the agreement of the last team of an elastic run: if the run is to end, ask the next team."""
        self._requested = self._requested or earlier._requested

    def look(self) -> None:
        """Make the first proposal, once the run is to end and every worker trains."""
        if self._requested and not self._proposed and all(m.beat.phase for m in self._members):
            self._propose(max(m.beat.step for m in self._members))

    def hear(self, member: MemberRecord, answer: Any) -> None:
        """Take the answer of a worker. The last one decides: the step is final, or a later one is proposed."""
        if self._final or answer.step != self._proposed:
            return
        self._reached[member.rank] = answer.reached
        if len(self._reached) < len(self._members):
            return
        latest = max(self._reached.values())
        if latest <= self._proposed:
            self._settle(self._proposed)
        elif latest >= self._end:  # a worker has done its last step, so the run is over anyway
            self._settle(self._end)
        else:
            self._propose(latest)

    def _propose(self, newest: int) -> None:
        """Propose a step after ``newest``."""
        self._reached = {}
        self._proposed = min(newest + self._lead, self._end)
        self._lead *= 2
        self._tell(HaltProto(step=self._proposed))

    def _settle(self, step: int) -> None:
        """Make ``step`` final."""
        self._final = True
        self._tell(HaltProto(step=step, final=True))
        if step < self._end:
            self._listener(Halted(step))

    def _tell(self, halt: HaltProto) -> None:
        for member in self._members:
            self._send(member, ControlProto(halt=halt))
