"""RunListeners: the listeners of a run. Some are opened once for all its attempts, the others for each attempt."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from types import TracebackType
from typing import Self

from netpart.families import LISTENERS
from netpart.launch.report.events import Noticed
from netpart.launch.report.queued_listener import QueuedListener
from netpart.launch.report.run_description import RunDescription
from netpart.launch.report.run_record import RunRecord
from netpart.launch.report.watch_events import NextAttempt


class RunListeners:
    """The listeners that ``texts``, each NAME or NAME=TEXT, name. A ``with`` block is a run of one or several attempts.

    One whose function of events has an attribute ``lasts`` that is true stays open until the run has ended. Each later
    attempt tells it its description as a NextAttempt.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts
        self._run = ExitStack()
        self._lasting: dict[int, QueuedListener] = {}
        self._record: RunRecord | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._run.__exit__(kind, error, trace)

    @contextmanager
    def attempt(self, record: RunRecord, describe: Callable[[str], RunDescription]) -> Iterator[None]:
        """Open the listeners for an attempt, whose ``record`` passes events on to them. ``describe`` returns the
        attempt's description with the text after = of a listener."""
        self._record = record
        with ExitStack() as stack:
            for number, text in enumerate(self.texts):
                name, _, argument = text.partition("=")
                queued = self._lasting.get(number)
                if queued is None:
                    self._open(number, name, describe(argument), stack)
                else:
                    queued.hear(NextAttempt(describe(argument)))
                    _pass_on(record, queued)
            yield

    def _open(self, number: int, name: str, run: RunDescription, stack: ExitStack) -> None:
        """Open a listener until the run ends if it lasts, else until ``stack`` does."""
        assert self._record is not None
        queued = QueuedListener(name, LISTENERS.get(name, who="--listener"), run, self._say)
        queued.__enter__()
        (self._run if queued.lasts else stack).push(queued)
        if queued.lasts:
            self._lasting[number] = queued
        _pass_on(self._record, queued)

    def _say(self, text: str) -> None:
        """Report the trouble of a listener as a notice of the attempt that is played."""
        assert self._record is not None
        self._record.hear(Noticed(text))


def _pass_on(record: RunRecord, queued: QueuedListener) -> None:
    """Let ``record`` pass events on to a listener."""
    record.listeners.append(queued.hear)
    if queued.watches:
        record.watchers.append(queued.hear)
