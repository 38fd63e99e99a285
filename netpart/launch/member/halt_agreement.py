"""HaltAgreement: a worker's part in agreeing on the step before which the run ends (see coordinator/halt_book.py)."""

from __future__ import annotations

from collections.abc import Callable

from netpart.launch.member.control_client import HALT, ControlClient
from netpart.proto.control_pb2 import ControlProto, HaltProto


class HaltAgreement:
    """``step`` was proposed last, None before any. ``reached`` is the first step before which this worker can still
    stop.

    ``flush`` is called before this worker waits: it must have sent all that others need to finish the earlier steps.
    """

    def __init__(self, control: ControlClient, flush: Callable[[], None]) -> None:
        self.step: int | None = None
        self.reached = 0
        self._control = control
        self._flush = flush
        self._final = False
        control.heed_halt = self._take

    def ends_before(self, step: int) -> bool:
        """True if the run ends before ``step``; False if it goes on. If ``step`` was proposed, wait for the
        decision."""
        if self.step != step:
            return False
        self._flush()
        self.reached = step
        while self.step == step and not self._final:
            self._control.receive(HALT)
        return self.step == step

    def begin(self, step: int) -> bool:
        """Begin a training step; return whether the run ends after it.

        That is decided before the step: all workers drain delayed stages in it, or none. Else they would count messages
        differently.
        """
        ends = self.ends_before(step + 1)
        self.reached = step + 2
        return ends

    def _take(self, halt: HaltProto) -> None:
        """Note a proposal that this worker can follow, or the decision; answer the proposal.

        It is answered at once, also in the middle of a step: another worker may wait for the decision before it sends
        what this step needs.
        """
        if halt.final or halt.step >= self.reached:
            self.step = halt.step
            self._final = halt.final
        if not halt.final:
            answer = HaltProto(rank=self._control.rank, step=halt.step, reached=self.reached)
            self._control.send(ControlProto(halt=answer))
