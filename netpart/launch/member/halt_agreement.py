"""HaltAgreement: a worker's part in agreeing on the step before which the run ends (see coordinator/halt_book.py)."""

from __future__ import annotations

from netpart.launch.member.control_client import HALT, ControlClient
from netpart.proto.control_pb2 import ControlProto, HaltProto


class HaltAgreement:
    """``step`` was proposed last, None before any. ``reached`` is the first step before which this worker can still
    stop."""

    def __init__(self, control: ControlClient) -> None:
        self.step: int | None = None
        self.reached = 0
        self._control = control
        self._final = False
        control.heed_halt = self._take

    def wait_for_decision(self, step: int) -> bool:
        """True if the run ends before ``step``, which was proposed; False if it goes on to a later one.

        This worker must have sent all that others need to finish the earlier steps.
        """
        self.reached = step
        while self.step == step and not self._final:
            self._control.receive(HALT)
        return self.step == step

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
