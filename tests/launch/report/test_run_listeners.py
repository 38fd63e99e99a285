"""Listeners of several attempts: one that lasts is opened once, others each time; a failure ends what is open."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from netpart.families import LISTENERS
from netpart.graph.partition import Partition
from netpart.launch.report.events import Listener, Noticed
from netpart.launch.report.queued_listener import RunFailed
from netpart.launch.report.run_description import RunDescription
from netpart.launch.report.run_listeners import RunListeners
from netpart.launch.report.run_record import RunRecord
from netpart.launch.report.watch_events import NextAttempt

TEXTS = ("stays=here", "comes")


class Opened:
    """Listeners, one that ``lasts`` and one that does not, and what they heard, in order."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.heard: list[tuple[str, Any]] = []
        for name, lasts in (("stays", True), ("comes", False)):
            monkeypatch.setitem(LISTENERS._known, name, self.maker(name, lasts))

    def maker(self, name: str, lasts: bool) -> Any:
        def hear(event: Any) -> None:
            self.heard.append((name, event))

        cast(Any, hear).lasts = lasts

        @contextmanager
        def opened(run: RunDescription) -> Iterator[Listener]:
            self.heard.append((name, f"opened {run.argument}"))
            try:
                yield hear
            except RunFailed as error:
                self.heard.append((name, f"failed: {error}"))
                raise
            self.heard.append((name, "closed"))

        return opened

    def of(self, name: str) -> list[Any]:
        return [said for own, said in self.heard if own == name]


def play_attempts(workspace: Path, *errors: Exception | None) -> None:
    """Attempts that end with these errors; the last one ends the run."""

    def describe(argument: str) -> RunDescription:
        return RunDescription(cast(Partition, None), workspace, argument=argument)

    with RunListeners(TEXTS) as listeners:
        for number, error in enumerate(errors):
            record = RunRecord(workspace, None)
            try:
                with listeners.attempt(record, describe):
                    record.hear(Noticed(str(number)))
                    if error is not None:
                        raise error
            except Exception:
                if number + 1 == len(errors):
                    raise
            finally:
                record.close()


def test_one_that_lasts_hears_all_attempts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = Opened(monkeypatch)
    play_attempts(tmp_path, ValueError("worker 1"), None)
    again = NextAttempt(RunDescription(cast(Partition, None), tmp_path, argument="here"))
    assert opened.of("stays") == ["opened here", Noticed("0"), again, Noticed("1"), "closed"]
    assert opened.of("comes") == ["opened ", Noticed("0"), "failed: worker 1", "opened ", Noticed("1"), "closed"]


def test_the_last_failure_ends_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = Opened(monkeypatch)
    with pytest.raises(ValueError, match="worker 2"):
        play_attempts(tmp_path, ValueError("worker 1"), ValueError("worker 2"))
    assert opened.of("stays")[-1] == "failed: worker 2"
    assert opened.of("comes")[-1] == "failed: worker 2"
    assert opened.of("stays").count("opened here") == 1
