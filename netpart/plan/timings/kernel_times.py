"""Kernel times: the seconds of the kernels of any part on this host: timed once and kept, or estimated.

A part is timed when its seconds are first asked for, as long as the budget lasts. Then seconds are estimated from the
nearest timed parts of the same type of layer. ``save`` keeps what was timed for the next process.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from math import prod
from time import perf_counter
from typing import NamedTuple

import numpy as np

from netpart.errors import NetpartError
from netpart.kernels.op import Clock
from netpart.kernels.reference import Kernels
from netpart.plan.timings.call_seconds import time_op
from netpart.plan.timings.host_figures import HostFigures
from netpart.plan.timings.nearest_timings import NearestTimings
from netpart.plan.timings.part_call import BACKWARD, FORWARD, INPUTS, PARAMS, PartCall, backward_passes
from netpart.plan.timings.part_question import PartQuestion, drawn_numbers, ordered_numbers
from netpart.plan.timings.timing_file import Timing, TimingFile
from netpart.program.buffers import Order
from netpart.proto.updater_pb2 import UpdaterProto
from netpart.spec import Shape
from netpart.updaters import ParameterScale, build_updater

UPDATE, COPY = "update", "copy"
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
class KernelTimes:
    """The seconds of ``kernels`` with numbers of ``dtype`` on so many ``threads`` of a host with ``figures``.

    ``budget`` are the seconds that timing may take. ``progress`` is called after each part that was timed.
    """

    kernels: type[Kernels]
    dtype: str
    threads: int
    figures: HostFigures
    budget: float = float("inf")
    progress: Callable[[], None] = lambda: None
    timed: int = 0
    estimated: int = 0
    answers: dict[str, PartSeconds] = field(default_factory=dict)
    updates: dict[tuple[str, int], float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.file = TimingFile((self.kernels.__module__, self.dtype, str(self.threads), np.__version__))
        self.bound = self.kernels(np, np.dtype(self.dtype).type)
        self.nearest = NearestTimings(self.figures.speed, self.figures.streaming)
        for text, timing in self.file.known.items():
            self.nearest.add(_kind_of(text), timing)

    def part_seconds(self, question: PartQuestion) -> PartSeconds:
        """The seconds of one part."""
        found = self.answers.get(question.text)
        if found is None:
            found = self.answers[question.text] = self._answer(question)
        return found

    def update_seconds(self, updater: UpdaterProto, elements: int) -> float:
        """The seconds of the update of a parameter of so many elements."""
        rule = _rule_digest(updater)
        if (rule, elements) not in self.updates:
            self.updates[rule, elements] = self._answer_update(updater, rule, elements)
        return self.updates[rule, elements]

    def copy_seconds(self, shape: Shape, source: Order, target: Order) -> float:
        """The seconds of a copy of a tensor from one memory order to another."""
        key = f"{COPY} {'x'.join(map(str, shape))} {_axes_text(source)} {_axes_text(target)} {COPY}"
        if key not in self.file.known and self.budget > 0:
            self._within_budget(lambda: self._time_copy(key, shape, source, target), ())
        if key in self.file.known:
            return self.file.known[key].seconds
        self.estimated += 1
        return self.nearest.estimate(_kind_of(key), 0, 2 * ITEM * prod(shape))

    def _time_copy(self, key: str, shape: Shape, source: Order, target: Order) -> None:
        old, new = (ordered_numbers(shape, np.dtype(self.bound.dtype), order) for order in (source, target))
        seconds = time_op(self.bound.copy(new, old), (old,), self.threads)
        self._keep(key, Timing(seconds, 0, 2 * ITEM * prod(shape)))

    def save(self) -> None:
        """Keep what was timed."""
        self.file.save()

    def _answer(self, question: PartQuestion) -> PartSeconds:
        passes = (FORWARD, *backward_passes(question))
        if self.budget > 0 and question.can_be_called and any(_key(question, p) not in self.file.known for p in passes):
            # Some kernels refuse shapes that only a part has: a run would say so.
            self._within_budget(lambda: self._time_part(question, passes), (NetpartError,))
        seconds = {which: self._seconds(question, which) for which in passes}
        inputs = seconds.get(INPUTS, 0.0) + seconds.get(BACKWARD, 0.0)
        return PartSeconds(seconds[FORWARD], inputs, seconds.get(PARAMS, 0.0))

    def _seconds(self, question: PartQuestion, which: str) -> float:
        """The kept seconds of a pass, or an estimate."""
        known = self.file.known.get(_key(question, which))
        if known is not None:
            return known.seconds
        self.estimated += question.can_be_called
        return self.nearest.estimate(f"{question.kind} {which}", _flops(question, which), question.nbytes)

    def _time_part(self, question: PartQuestion, passes: tuple[str, ...]) -> None:
        """Time the passes of a part, of fewer rows if it is large."""
        fewer = question.with_fewer_rows()
        times = question.region[0][1] - question.region[0][0] if question.region else 1
        ratio = times / (fewer.region[0][1] - fewer.region[0][0]) if question.region and times else 1.0
        call = PartCall(fewer, self.bound)
        with np.errstate(all="ignore"):
            for which in passes:
                op = call.forward() if which == FORWARD else call.backward(which)
                recent = call.call.x[:1] if which == FORWARD else call.call.dy[:1]
                seconds = time_op(op, recent, self.threads) * ratio
                self._keep(_key(question, which), Timing(seconds, _flops(question, which), question.nbytes))

    def _answer_update(self, updater: UpdaterProto, rule: str, elements: int) -> float:
        """The kept or timed seconds of an update, of fewer elements if these are many."""
        text = f"{UPDATE}.{rule} {elements} {UPDATE}"
        if text not in self.file.known and self.budget > 0:
            self._within_budget(lambda: self._time_update(updater, text, elements), ())
        if text in self.file.known:
            return self.file.known[text].seconds
        self.estimated += 1
        return self.nearest.estimate(_kind_of(text), 0, elements * ITEM)

    def _time_update(self, updater: UpdaterProto, text: str, elements: int) -> None:
        rule = build_updater(updater)
        shape = (min(elements, UPDATED),)
        w, g, *state = (drawn_numbers(shape, np.dtype(self.bound.dtype)) for _ in range(2 + len(rule.states)))
        op = self.bound.update(rule, w, g, state, ParameterScale(), Clock(1), None)
        with np.errstate(all="ignore"):
            seconds = time_op(op, (), self.threads) * elements / shape[0]
        self._keep(text, Timing(seconds, 0, elements * ITEM))

    def _keep(self, text: str, timing: Timing) -> None:
        self.timed += 1
        self.file.add(text, timing)
        self.nearest.add(_kind_of(text), timing)

    def _within_budget(self, work: Callable[[], None], refusals: tuple[type[Exception], ...]) -> None:
        """Do some work and take its seconds from the budget. What memory or ``refusals`` prevent, is estimated."""
        began = perf_counter()
        with suppress(MemoryError, *refusals):
            work()
        self.budget -= perf_counter() - began
        self.progress()


def _axes_text(order: Order) -> str:
    """A memory order as text."""
    return "".join(map(str, order)) or "-"


def _key(question: PartQuestion, which: str) -> str:
    """The text by which the seconds of a pass are kept."""
    return f"{question.text} {which}"


def _kind_of(text: str) -> str:
    """The type of layer and the pass in the text of a question."""
    return f"{text.partition(' ')[0]} {text.rpartition(' ')[2]}"


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
