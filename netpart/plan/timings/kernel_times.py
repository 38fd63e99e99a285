"""Kernel times: the seconds of the kernels of any part on this host, of updates, and of copies: timed once and kept, or
estimated from the nearest timed calls of the same type."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from math import prod
from typing import NamedTuple

import numpy as np

from netpart.errors import NetpartError
from netpart.kernels.op import Array, Clock, Op
from netpart.plan.timings.call_times import CallTimes, TimedCall
from netpart.plan.timings.copy_calls import axes_text, extents_text, reordering_call, window_call
from netpart.plan.timings.part_call import BACKWARD, FORWARD, INPUTS, PARAMS, PartCall, backward_passes
from netpart.plan.timings.part_question import PartQuestion, drawn_numbers
from netpart.program.buffers import Order
from netpart.proto.updater_pb2 import UpdaterProto
from netpart.spec import Shape
from netpart.updaters import ParameterScale, build_updater

UPDATE, COPY, WINDOW = "update", "copy", "window"
UPDATED = 1 << 22
"""Elements of the largest update that is timed."""
ITEM = 4
"""Bytes of an element, in the work by which calls are compared."""


class PartSeconds(NamedTuple):
    """Seconds of one part: forward, the gradients of its inputs, and after these the gradients of its parameters."""

    forward: float
    inputs: float = 0.0
    params: float = 0.0


@dataclass
class KernelTimes(CallTimes):
    """The seconds of parts, updates and copies."""

    answers: dict[str, PartSeconds] = field(default_factory=dict)
    updates: dict[tuple[str, int], float] = field(default_factory=dict)

    def part_seconds(self, question: PartQuestion) -> PartSeconds:
        """The seconds of one part."""
        found = self.answers.get(question.text)
        if found is None:
            found = self.answers[question.text] = self._answer(question)
        return found

    def update_seconds(self, updater: UpdaterProto, elements: int) -> float:
        """The seconds of the update of a parameter of so many elements, of fewer if these are many."""
        rule = _rule_digest(updater)
        if (rule, elements) not in self.updates:
            text = f"{UPDATE}.{rule} {elements} {UPDATE}"
            found = self.call_seconds(text, elements * ITEM, partial(self._update_call, updater, elements))
            self.updates[rule, elements] = found
        return self.updates[rule, elements]

    def copy_seconds(self, shape: Shape, source: Order, target: Order) -> float:
        """The seconds of a copy of a tensor from one memory order to another."""
        text = f"{COPY} {extents_text(shape)} {axes_text(source)} {axes_text(target)} {COPY}"
        make = partial(reordering_call, self.bound, shape, source, target)
        return self.call_seconds(text, 2 * ITEM * prod(shape), make)

    def window_seconds(self, shape: Shape, whole: Shape, order: Order) -> float:
        """The seconds of a copy of a tensor of ``shape`` into, or out of, a window of an array of shape ``whole``."""
        text = f"{WINDOW} {extents_text(shape)} {extents_text(whole)} {axes_text(order)} {WINDOW}"
        make = partial(window_call, self.bound, shape, whole, order)
        return self.call_seconds(text, 2 * ITEM * prod(shape), make)

    def _answer(self, question: PartQuestion) -> PartSeconds:
        passes = (FORWARD, *backward_passes(question))
        if self.budget > 0 and question.can_be_called and any(_key(question, p) not in self.file.known for p in passes):
            # Some kernels refuse shapes that only a part has: a run would say so.
            self.within_budget(lambda: self._time_part(question, passes), (NetpartError,))
        seconds = {which: self._seconds(question, which) for which in passes}
        inputs = seconds.get(INPUTS, 0.0) + seconds.get(BACKWARD, 0.0)
        return PartSeconds(seconds[FORWARD], inputs, seconds.get(PARAMS, 0.0))

    def _seconds(self, question: PartQuestion, which: str) -> float:
        """The kept seconds of a pass, or an estimate."""
        flops = _flops(question, which)
        return self.known_seconds(_key(question, which), flops, question.nbytes, question.can_be_called)

    def _time_part(self, question: PartQuestion, passes: tuple[str, ...]) -> None:
        """Time the passes of a part, of fewer rows if it is large."""
        fewer = question.with_fewer_rows()
        times = question.region[0][1] - question.region[0][0] if question.region else 1
        ratio = times / (fewer.region[0][1] - fewer.region[0][0]) if question.region and times else 1.0
        call = PartCall(fewer, self.bound)
        for which in passes:
            op = call.forward() if which == FORWARD else call.backward(which)
            recent = call.call.x[:1] if which == FORWARD else call.call.dy[:1]
            timed = TimedCall(op, recent, ratio)
            self.time_call(_key(question, which), _flops(question, which), question.nbytes, timed)

    def _update_call(self, updater: UpdaterProto, elements: int) -> TimedCall:
        """The update of so many elements, of UPDATED at most. A step updates one parameter after another."""
        timed = min(elements, UPDATED)
        op, g = self._bind_update(updater, timed)
        return TimedCall(op, (g,), elements / timed, before=self._bind_update(updater, 1)[0])

    def _bind_update(self, updater: UpdaterProto, elements: int) -> tuple[Op, Array]:
        """The update of a parameter of so many elements, and its gradient."""
        rule = build_updater(updater)
        w, g, *state = (drawn_numbers((elements,), np.dtype(self.bound.dtype)) for _ in range(2 + len(rule.states)))
        return self.bound.update(rule, w, g, state, ParameterScale(), Clock(1), None), g


def _key(question: PartQuestion, which: str) -> str:
    """The text by which the seconds of a pass are kept."""
    return f"{question.text} {which}"


def _flops(question: PartQuestion, which: str) -> float:
    """The FLOPs of one pass."""
    cost = question.cost
    inputs = sum(flops for flops, want in zip(cost.inputs, question.wanted, strict=False) if want)
    params = cost.params * question.trains
    return float({FORWARD: cost.forward, INPUTS: inputs, PARAMS: params, BACKWARD: inputs + params}[which])


def _rule_digest(updater: UpdaterProto) -> str:
    """A short text for an update rule; its learning rate does not matter."""
    rule = UpdaterProto()
    rule.CopyFrom(updater)
    rule.ClearField("learning_rate")
    return blake2b(rule.SerializeToString(deterministic=True), digest_size=6).hexdigest()
