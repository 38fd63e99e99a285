"""Graph capture: consecutive kernels without a message between them, replayed as one CUDA graph."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cached_property, partial
from itertools import groupby
from typing import Any

from netpart.worker.actions import RUN, Action, BoundProgram, Turn
from netpart.worker.gpu.graph_lanes import LaneSchedule, assign_lanes
from netpart.worker.gpu.graph_trial import GraphTrial
from netpart.worker.memory_access import find_dependences

WIDE = 64 << 20
"""Bytes of scratch above which an action stays on the first lane: its kernels fill the device, so a second workspace
has no use."""


class GraphReplay:
    """``actions`` as one: played one by one at first, which loads their kernels, then captured, then replayed.

    If some of them can run in parallel, they are captured twice: assigned to lanes, and one after another. The faster
    graph is kept.
    """

    def __init__(self, device: Any, actions: list[Action]) -> None:
        """Set the lane of each action."""
        self.device = device
        self.actions = actions
        self.groups = group_table_rows(actions)
        self.branches = _schedule_groups(self.groups)
        for lane, group in zip(self.branches.lanes, self.groups, strict=True):
            for action in group:
                action.lane = lane
        self.loaded = False
        self.graph: Any = None

    def __call__(self) -> None:
        # Loading a kernel is not allowed during a capture, so the first call plays without one.
        if self.graph is None and self.loaded:
            self.graph = self.made()
        if self.graph is None:
            self.play()
            self.loaded = True
        else:
            self.graph.launch(self.device.stream)

    @cached_property
    def runs(self) -> list[Callable[[], None]]:
        """The functions to call. They exist only after the actions have their scratch."""
        return list(map(make_group_call, self.groups))

    def play(self) -> None:
        """Enqueue the kernels one after another."""
        for run in self.runs:
            run()

    def made(self) -> Any:
        """The captured graph, or a trial of two graphs."""
        if not any(self.branches.lanes):
            return self.captured(self.play)
        for lane in range(max(self.branches.lanes), -1, -1):  # makes the streams now, as a capture cannot
            self.device.turn(lane)
        concurrent = self.captured(partial(self.branches.enqueue, self.device, self.runs))
        return GraphTrial(self.device.xp, [concurrent, self.captured(self.play)])

    def captured(self, play: Callable[[], None]) -> Any:
        """The graph of everything that ``play`` enqueues. Nothing is executed yet."""
        stream = self.device.stream
        stream.begin_capture()
        try:
            play()
        except BaseException:
            with suppress(Exception):  # ending a failed capture raises a less helpful error
                stream.end_capture()
            self.device.turn(0)
            raise
        return stream.end_capture()


def group_table_rows(actions: list[Action]) -> list[list[Action]]:
    """The actions that have a function to call, each in a group of its own; consecutive rows of one ``table`` form one
    group."""
    found: list[list[Action]] = []
    for table, group in groupby((a for a in actions if a.run), key=lambda action: getattr(action.run, "table", None)):
        calls = list(group)
        found += [[action] for action in calls] if table is None else [calls]
    return found


def make_group_call(group: list[Action]) -> Callable[[], None]:
    """The function to call for one group of ``group_table_rows``."""
    runs: list[Any] = [action.run for action in group]
    table = getattr(runs[0], "table", None)
    found: Callable[[], None] = runs[0] if table is None else table.gather(runs)
    return found


def _schedule_groups(groups: list[list[Action]]) -> LaneSchedule:
    """The assignment of ``groups`` to lanes."""
    touched = []
    for group in groups:
        known = [action.accesses for action in group if action.accesses is not None]
        touched.append(tuple(span for spans in known for span in spans) if len(known) == len(group) else None)
    fixed = [any(action.scratch > WIDE for action in group) for group in groups]
    return assign_lanes(find_dependences(touched), fixed)


def replay_bound_turns(device: Any, bound: BoundProgram) -> list[Turn]:
    """The turns of ``bound`` for playing without a trace: on a GPU, with graphs."""
    if device is None:
        return bound.turns
    for running in bound.running:
        running.then_replayed = [action for _, action in replay_turn(device, [(0, action) for action in running.then])]
    return [replay_turn(device, turn) for turn in bound.turns]


def replay_turn(device: Any, turn: Turn) -> Turn:
    """``turn`` with each longest run of actions that a graph can repeat, all for the same mini-batch, merged into one
    action."""
    found: Turn = []
    for (delay, repeated), group in groupby(turn, key=lambda item: (item[0], _is_capturable(item[1]))):
        actions = [action for _, action in group]
        found += [(delay, action) for action in ([_merge_actions(device, actions)] if repeated else actions)]
    return found


def _is_capturable(action: Action) -> bool:
    """True if a graph can repeat ``action``."""
    return action.kind == RUN and action.captured


def _merge_actions(device: Any, actions: list[Action]) -> Action:
    """One action that replays several."""
    names = f"{actions[0].name} to {actions[-1].name}" if len(actions) > 1 else actions[0].name
    return Action(RUN, names, run=GraphReplay(device, actions))
