"""StepSampler: traces single training steps of a run that is watched, when the coordinator asks for them.

A trace costs some microseconds an instruction, so the coordinator asks seldom (coordinator/step_looks.py). All other
steps are played as in a run that nobody watches.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from netpart.launch.member.control_client import ControlClient
from netpart.launch.member.tracing import encode_trace, measure_clock_offset
from netpart.proto.control_pb2 import ControlProto, LookProto
from netpart.worker.memory_limit import resident_memory

if TYPE_CHECKING:
    from netpart.transport.transport import Channel
    from netpart.worker.player import Player


class StepSampler:
    """Sampler of the steps of ``player``. ``counts`` are the payload bytes sent so far, by channel. ``shared``: other
    workers are in the same process. ``before`` is the memory of the process, in bytes, before the plan was allocated.
    """

    def __init__(self, control: ControlClient, player: Player, counts: Mapping[Channel, int], shared: bool) -> None:
        self.control = control
        self.player = player
        self.counts = counts
        self.shared = shared
        self.before = 0
        self.asked: int | None = None
        self.is_due = False
        self.ahead = 0.0

    def start(self) -> None:
        """Find out how far the coordinator's clock is ahead, and take requests from now on."""
        self.ahead = measure_clock_offset(self.control)
        self.control.heed_look = self._take_request

    def _take_request(self, look: LookProto) -> None:
        self.asked = look.step

    def begin(self, step: int) -> None:
        """Trace ``step`` if it is the first from the requested one on."""
        # Decided here, as a request may arrive within a step: that one was not traced from its start.
        self.is_due = self.asked is not None and step >= self.asked
        # On a GPU a traced step is not played from its CUDA graphs, which would make it another step.
        if self.is_due and self.player.device is None:
            self.player.trace.events = []

    def end(self, step: int) -> None:
        """Send what was asked for. On a GPU that is all but the actions."""
        if not self.is_due:
            return
        self.is_due, self.asked = False, None
        events, self.player.trace.events = self.player.trace.events, None
        message = ControlProto(trace=encode_trace(events or [], self.ahead))
        message.trace.rank = self.control.rank
        message.trace.step = step
        message.trace.resident_bytes = resident_memory()
        if not self.shared:
            message.trace.grown_bytes = max(0, message.trace.resident_bytes - self.before)
        for channel, nbytes in self.counts.items():
            message.trace.sent.add(channel=[int(c) for c in channel], bytes=nbytes)
        self.control.send(message)
