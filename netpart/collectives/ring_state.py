"""RingState: one member's progress through a schedule. It takes arrivals and returns what to send."""

from __future__ import annotations

from collections.abc import Sequence

from netpart.collectives.ring import Range, Step
from netpart.errors import TransportError
from netpart.kernels.op import Array

Send = tuple[int, int, Array]
"""(peer, step index, view of the buffer to send)."""


class RingState:
    """Plays one member's steps on a flat ``buffer`` (numpy or cupy, any dtype), in place.

    ``start`` begins a run and may be called again once ``done``; messages must be delivered in the order
    of ``expects``. All views are made here, so a run allocates nothing but its small lists.

    A view of the reduce phase is written again only after its receiver has used it, because what
    overwrites it was computed from it. The views of the gather phase hold the result: whoever changes
    the buffer after ``done`` must first know that the sends have left.
    """

    def __init__(self, steps: Sequence[Step], buffer: Array) -> None:
        self._steps = tuple(steps)
        self._sends: list[list[Send]] = [
            [(step.send_to, i, buffer[slice(*step.send)])] if _size(step.send) else []
            for i, step in enumerate(self._steps)
        ]
        self._views = [buffer[slice(*step.receive)] for step in self._steps]
        self._at = -1

    @property
    def done(self) -> bool:
        """True once every message of the run has been delivered; False before the first ``start``."""
        return self._at == len(self._steps)

    def start(self) -> list[Send]:
        """Begins a run and returns what can be sent at once; raises RuntimeError while a run is unfinished."""
        if not self.done and self._at != -1:
            raise RuntimeError(f"RingState: start before done, at step {self._at} of {len(self._steps)}")
        self._at = 0
        return self._proceed()

    def expects(self) -> tuple[int, int, Range] | None:
        """Names the next message as (peer, step index, range of the buffer); None if there is none to come."""
        if self.done or self._at == -1:
            return None
        step = self._steps[self._at]
        return step.receive_from, self._at, step.receive

    def deliver(self, array: Array) -> list[Send]:
        """Takes the message that ``expects`` names and returns what can be sent now.

        Raises TransportError if none is expected or ``array`` has another shape or dtype than its range.
        """
        if self.done or self._at == -1:
            raise TransportError(f"RingState: expected no message, got one of shape {array.shape}; start a run first")
        step, view = self._steps[self._at], self._views[self._at]
        if array.shape != view.shape or array.dtype != view.dtype:
            raise TransportError(
                f"RingState: expected {view.dtype} {view.shape} for step {self._at} from {step.receive_from}, "
                f"got {array.dtype} {array.shape}; all members must play schedules of the same length and members"
            )
        if step.add:
            view += array
        else:
            view[...] = array
        self._at += 1
        return self._proceed()

    def _proceed(self) -> list[Send]:
        """Sends of the steps from here to the next one that waits for a message."""
        sends: list[Send] = []
        while not self.done:
            sends += self._sends[self._at]
            if _size(self._steps[self._at].receive):
                break
            self._at += 1
        return sends

    def __repr__(self) -> str:
        return f"RingState(step {self._at} of {len(self._steps)})"


def _size(span: Range) -> int:
    return span[1] - span[0]
