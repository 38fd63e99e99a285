"""Call times: the seconds of kernel calls by their text: timed once and kept, or estimated.

A call is timed when its seconds are first asked for, as long as the budget lasts. Then seconds are estimated from the
nearest timed calls of the same kind, which is the first word of the text and the last. ``save`` keeps what was timed
for the next process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from time import perf_counter
from typing import NamedTuple

import numpy as np

from netpart.kernels.op import Array, Op
from netpart.kernels.reference import Kernels
from netpart.kernels.verbs import NOTHING
from netpart.plan.timings.call_seconds import SWEPT, time_op
from netpart.plan.timings.host_figures import HostFigures
from netpart.plan.timings.nearest_timings import NearestTimings
from netpart.plan.timings.product_speed import CoreWait
from netpart.plan.timings.timing_file import Timing, TimingFile


class TimedCall(NamedTuple):
    """A call to be timed: its ``op``, the arrays that were made just before it, how many times as much work the call in
    question is, how many bytes of other data pass through the caches before, and the call of the same code that a step
    runs just before, if it does."""

    op: Op
    recent: Iterable[Array]
    ratio: float = 1.0
    swept: int = SWEPT
    before: Op = NOTHING


@dataclass
class CallTimes:
    """The seconds of calls of ``kernels`` with numbers of ``dtype`` on so many ``threads`` of a host with ``figures``.

    ``budget`` are the seconds that timing may take. ``progress`` is called after each timing.
    """

    kernels: type[Kernels]
    dtype: str
    threads: int
    figures: HostFigures
    budget: float = float("inf")
    progress: Callable[[], None] = lambda: None
    timed: int = 0
    estimated: int = 0

    def __post_init__(self) -> None:
        self.file = TimingFile((self.kernels.__module__, self.dtype, str(self.threads), np.__version__))
        self.bound = self.kernels(np, np.dtype(self.dtype).type)
        self.core = CoreWait(self.figures.speed)
        self.nearest = NearestTimings(self.figures.speed, self.figures.streaming)
        for text, timing in self.file.known.items():
            self.nearest.add(_kind_of(text), timing)

    def call_seconds(self, text: str, nbytes: float, make: Callable[[], TimedCall]) -> float:
        """The seconds of the call ``text`` on so many bytes; ``make`` binds it to arrays."""
        if text not in self.file.known and self.budget > 0:
            self.within_budget(lambda: self.time_call(text, 0, nbytes, make()), ())
        return self.known_seconds(text, 0, nbytes, True)

    def known_seconds(self, text: str, flops: float, nbytes: float, counts: bool) -> float:
        """The kept seconds of a call, or an estimate, which is noted if it ``counts``."""
        known = self.file.known.get(text)
        if known is not None:
            return known.seconds
        self.estimated += counts
        return self.nearest.estimate(_kind_of(text), flops, nbytes)

    def time_call(self, text: str, flops: float, nbytes: float, call: TimedCall) -> None:
        """Time a call, and keep its seconds."""
        timing = Timing(self._undisturbed_seconds(call) * call.ratio, flops, nbytes)
        self.timed += 1
        self.file.add(text, timing)
        self.nearest.add(_kind_of(text), timing)

    def _undisturbed_seconds(self, call: TimedCall) -> float:
        """The seconds of a call. It is timed again if the core is slowed afterwards, and the least seconds count."""
        found = self._measured_seconds(call)
        while self.core.wait():
            found = min(found, self._measured_seconds(call))
        return found

    @np.errstate(all="ignore")
    def _measured_seconds(self, call: TimedCall) -> float:
        return time_op(call.op, call.recent, self.threads, call.swept, call.before)

    def within_budget(self, work: Callable[[], None], refusals: tuple[type[Exception], ...]) -> None:
        """Do some work and take its seconds from the budget. What memory or ``refusals`` prevent, is estimated."""
        began = perf_counter()
        with suppress(MemoryError, *refusals):
            work()
        self.budget -= perf_counter() - began
        self.progress()

    def save(self) -> None:
        """Keep what was timed."""
        self.file.save()


def _kind_of(text: str) -> str:
    """The type of layer and the pass in the text of a question."""
    return f"{text.partition(' ')[0]} {text.rpartition(' ')[2]}"
