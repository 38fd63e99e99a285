"""Simulation of a delayed pipeline from the first mini-batch to the last: it fills and drains once in a run.

stage 0   F0    F1    F2 B0── F3 B1── F4 B2──    B3──    B4──
stage 1      F0    F1 B0── F2 B1── F3 B2── F4 B3── B4──
stage 2         F0 B0── F1 B1── F2 B2── F3 B3── F4 B4──
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

from netpart.choices import DELAYED
from netpart.graph.partition import Partition
from netpart.program.schedules.schedule import (
    BACKWARD_COST,
    FORWARD_COST,
    ScheduleSimulation,
    TimedTurn,
    Turn,
    schedule_order,
)
from netpart.program.schedules.stages import StageGraph, stage_graphs

SHOWN = 2
"""The length of the delayed run that is shown, in units of the steps that fill the pipeline."""


def simulate_schedule(cut: Partition) -> list[TimedTurn]:
    """The turns of all teams in a training step of ``cut``, by their start; of a short run if steps overlap."""
    order = schedule_order(cut.job)
    micros = cut.phases["train"]
    if order != DELAYED:
        return list(ScheduleSimulation(stage_graphs(micros), order).play())
    stages = stage_graphs(micros, delayed=True)
    return simulate_delayed(stages, SHOWN * (stages[0].depth + 1))


def simulate_delayed(micros: Sequence[StageGraph], steps: int) -> list[TimedTurn]:
    """The turns of all teams in a run of ``steps`` mini-batches of these micro-batches, by their start.

    Micro-batches are numbered throughout the run. All stages are assumed to take equally long.
    """
    teams = sorted({stage.team for stages in micros for stage in stages.before})
    left = {team: deque(_team_turns(micros, team, steps)) for team in teams}
    free = dict.fromkeys(teams, 0)
    ends = dict[Turn, int]()
    found = list[TimedTurn]()
    while any(left.values()):
        for team, own in left.items():
            while own and all(need in ends for need in _needed_turns(micros, own[0])):
                turn = own.popleft()
                start = max([free[team], *(ends[need] for need in _needed_turns(micros, turn))])
                free[team] = ends[turn] = start + (BACKWARD_COST if turn.backward else FORWARD_COST)
                found.append(TimedTurn(turn, start, ends[turn]))
    return sorted(found, key=lambda each: each.start)


def _team_turns(micros: Sequence[StageGraph], team: int, steps: int) -> Iterator[Turn]:
    """The turns of ``team``, in order: in each step forward of a mini-batch, and backward of an earlier one."""
    for step in range(steps + micros[0].depth):
        for micro, stages in enumerate(micros):
            own = stages.of_team.get(team, [])
            passes = [(stage, step, False) for stage in own]
            passes += [(stage, step - stages.delay(stage), True) for stage in reversed(own)]
            yield from (Turn(s, mini * len(micros) + micro, back) for s, mini, back in passes if 0 <= mini < steps)


def _needed_turns(micros: Sequence[StageGraph], turn: Turn) -> Iterator[Turn]:
    """The turns that must have ended before ``turn``."""
    stages = micros[turn.micro % len(micros)]
    for other in (stages.after if turn.backward else stages.waits)[turn.stage]:
        yield turn._replace(stage=other)
    if turn.backward:
        yield turn._replace(backward=False)
