"""Replay: kernels that follow each other without a message between them, as one CUDA graph."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from itertools import groupby
from typing import Any

from netpart.worker.bind import RUN, Action

Turn = list[tuple[int, Action]]
"""The actions of a step, each behind its delay."""


class Replay:
    """``actions`` as one: played one by one at first, which loads their kernels, then captured, then replayed."""

    def __init__(self, device: Any, actions: list[Action]) -> None:
        self.device, self.actions, self.runs = device, actions, runs(actions)
        self.loaded = False
        self.graph: Any = None

    def __call__(self) -> None:
        if self.graph is None and self.loaded:
            self.graph = self.captured()
        if self.graph is None:
            self.play()
            self.loaded = True
        else:
            self.graph.launch(self.device.stream)

    def play(self) -> None:
        """Enqueues the kernels."""
        for run in self.runs:
            run()

    def captured(self) -> Any:
        """The graph of all that they enqueue; nothing of it is done yet."""
        stream = self.device.stream
        stream.begin_capture()
        try:
            self.play()
        except BaseException:
            with suppress(Exception):  # a capture that failed says so again, and less well
                stream.end_capture()
            raise
        return stream.end_capture()


def runs(actions: list[Action]) -> list[Callable[[], None]]:
    """What to call for ``actions``; those that follow each other and are rows of one ``table`` are one call."""
    found: list[Callable[[], None]] = []
    for table, group in groupby((a.run for a in actions if a.run), key=lambda run: getattr(run, "table", None)):
        calls = list(group)
        found += calls if table is None else [table.gather(calls)]
    return found


def replays(device: Any, turn: Turn) -> Turn:
    """``turn`` with each longest run of actions that a graph can repeat, all for the same mini-batch, as one."""
    found: Turn = []
    for (delay, repeated), group in groupby(turn, key=lambda item: (item[0], repeatable(item[1]))):
        actions = [action for _, action in group]
        found += [(delay, action) for action in ([merged(device, actions)] if repeated else actions)]
    return found


def repeatable(action: Action) -> bool:
    """True if a graph can do what ``action`` does."""
    return action.kind == RUN and action.captured


def merged(device: Any, actions: list[Action]) -> Action:
    """One action that replays several."""
    names = f"{actions[0].name} to {actions[-1].name}" if len(actions) > 1 else actions[0].name
    return Action(RUN, names, run=Replay(device, actions))
