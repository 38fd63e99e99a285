"""QueuedListener: a listener that is opened, called and closed on a thread of its own.

So no step waits for a slow one, and none ends the run: a listener that fails is dropped, and the user is told once.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from queue import Full, Queue
from threading import Thread
from time import monotonic
from typing import Any

from netpart.errors import ConfigError, NetpartError
from netpart.launch.report.events import Listener, ListenerMaker
from netpart.launch.report.run_description import RunDescription
from netpart.launch.report.watch_events import LastingEvent
from netpart.units import plural_text

ROOM = 1000
"""Largest number of events that wait for a listener. Further ones are dropped."""
PATIENCE = 30.0
"""Seconds for which the end of a run waits for a listener."""


class RunFailed(Exception):
    """Raised within the context of a listener when its run ends with an error, whose text this has.

    ``rank`` is the worker at fault, if one is.
    """

    def __init__(self, text: str, rank: int | None = None) -> None:
        super().__init__(text)
        self.rank = rank


class QueuedListener:
    """The listener ``name`` of ``run``, for the duration of a ``with`` block, which yields what to call with events.
    ``watches``: the listener also takes the events of watch_events.py, ``lasts``: it stays open for all attempts of a
    run, as its attributes of these names say.

    ``say`` reports a text to the user; it is called by the thread that hands events over. Entering raises the error of
    a listener that cannot be opened: its own if that is one of netpart's, else a ConfigError.
    """

    def __init__(
        self, name: str, maker: ListenerMaker, run: RunDescription, say: Callable[[str], None], room: int = ROOM,
        patience: float = PATIENCE,
    ) -> None:  # fmt: skip
        self.name = name
        self.maker = maker
        self.run = run
        self.say = say
        self.patience = patience
        self.waiting: Queue[LastingEvent | RunFailed | None] = Queue(room)
        self.opened = Future[Any]()
        self.failure: BaseException | None = None
        self.dropped = 0
        self.watches = self.lasts = False
        # A daemon: a listener that hangs must not keep the process from ending.
        self.thread = Thread(target=self._serve, name=f"listener {name}", daemon=True)

    def __enter__(self) -> Listener:
        self.thread.start()
        listener = self._opened_listener()
        self.watches, self.lasts = getattr(listener, "watches", False), getattr(listener, "lasts", False)
        return self.hear

    def _opened_listener(self) -> Any:
        """The listener's function of events."""
        try:
            return self.opened.result()
        except NetpartError:
            raise
        except Exception as error:
            text, hint = f"{type(error).__name__}: {error}", "mend the listener or what it reaches, or run without it"
            raise ConfigError(f"--listener {self.name}", "a listener that can be opened", text, hint) from error

    def hear(self, event: LastingEvent) -> None:
        """Hand ``event`` over. Never waits: without room the event is dropped, which is reported the first time."""
        if not self.thread.is_alive():
            return self._report_failure()
        try:
            self.waiting.put_nowait(event)
        except Full:
            self.dropped += 1
            if self.dropped == 1:
                self.say(f"listener {self.name} is slow: {self.waiting.maxsize} events wait, further ones are dropped")

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Let the listener take what waits and close it; give up after ``patience`` seconds."""
        until = monotonic() + self.patience
        with suppress(Full):  # reported below: then the thread has not ended
            self.waiting.put(None if error is None else _failure_of(error), timeout=self.patience)
        self.thread.join(max(0.0, until - monotonic()))
        if self.thread.is_alive():
            self.say(f"listener {self.name} did not end within {self.patience:g} s, and was left")
        self._report_failure()
        if self.dropped > 1:
            self.say(f"listener {self.name} was slow: {plural_text(self.dropped, 'event')} dropped")

    def _report_failure(self) -> None:
        """Report why the listener ended, once."""
        error, self.failure = self.failure, None
        if error is not None:
            self.say(f"listener {self.name} failed and was dropped; the run goes on without it: {error!r}")

    def _serve(self) -> None:
        """Open the listener, call it with each event, close it."""
        try:
            with self.maker(self.run) as listener:
                self.opened.set_result(listener)
                self._pass_events(listener)
        except RunFailed:
            pass
        except BaseException as error:
            if self.opened.done():
                self.failure = error
            else:
                self.opened.set_exception(error)

    def _pass_events(self, listener: Callable[[Any], None]) -> None:
        """Call ``listener`` with each event until the run has ended. Raises RunFailed if it has failed."""
        while (event := self.waiting.get()) is not None:
            if isinstance(event, RunFailed):
                raise event
            listener(event)


def _failure_of(error: BaseException) -> RunFailed:
    """What a listener is told of the ``error`` that ended its run."""
    return RunFailed(str(error) or type(error).__name__, getattr(error, "rank", None))
