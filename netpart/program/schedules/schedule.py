"""Schedules: the order in which each worker computes the passes of its micro-batches.

The schedule of a pipeline of ``stages`` is the record of a simulation. In it all teams work at the same pace, and each
free team picks the pass that its order prefers. As the record was executed once, it contains no deadlock.

    stage 0   F0 F1 F2             B0──  F3 B1──     B2──     B3──      1F1B on three teams: the first has at most
    stage 1      F0 F1       B0──  F2 B1──  F3 B2──     B3──            3 micro-batches in flight, the last one
    stage 2         F0 B0──  F1 B1──  F2 B2──  F3 B3──
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from typing import NamedTuple

from netpart.choices import DELAYED, GPIPE
from netpart.program.schedules.stages import StageGraph, TeamStage
from netpart.proto.job_pb2 import JobProto, Schedule

FORWARD_COST, BACKWARD_COST = 1, 2
"""The time that a stage takes in a simulation: backward has two products for each of forward."""


class Turn(NamedTuple):
    """One pass of one stage over one micro-batch."""

    stage: TeamStage
    micro: int
    backward: bool


class TimedTurn(NamedTuple):
    """A Turn with its start and end in the simulation."""

    turn: Turn
    start: int
    end: int


def schedule_order(job: JobProto) -> str:
    """The order that ``job`` sets."""
    return Schedule.Order.Name(job.neuralnet.schedule)


class ScheduleSimulation:
    """A simulation of forward and backward of micro-batches, each with its stages, on teams that work at the same pace.

    ``trains``: backward is computed as well.
    """

    def __init__(self, micros: Sequence[StageGraph], order: str, trains: bool = True) -> None:
        self.micros = micros
        self.flushes = order == GPIPE
        self.trains = trains
        self.teams = sorted({stage.team for stages in micros for stage in stages.before})
        self.limits = {team: self.limit(team) for team in self.teams}
        self.ready: dict[int, list[tuple[tuple[int, int, int], Turn]]] = {team: [] for team in self.teams}
        self.in_flight = dict.fromkeys(self.teams, 0)
        self.missing = {turn: sum(1 for _ in self.needs(turn)) for turn in self.turns()}
        for turn in self.missing:
            self.offer(turn)

    def limit(self, team: int) -> int:
        """The number of micro-batches that a team may have in flight."""
        if self.flushes or not self.trains:
            return len(self.micros)
        return max(stages.in_flight(team) for stages in self.micros)

    def turns(self) -> Iterator[Turn]:
        for micro, stages in enumerate(self.micros):
            for stage in stages.before:
                yield Turn(stage, micro, False)
                if self.trains:
                    yield Turn(stage, micro, True)

    def needs(self, turn: Turn) -> Iterator[Turn]:
        """The turns that must have ended before ``turn``."""
        stages = self.micros[turn.micro]
        if not turn.backward:
            yield from (turn._replace(stage=before) for before in stages.waits[turn.stage])
            return
        yield from (turn._replace(stage=after) for after in stages.after[turn.stage])
        yield from self.flushed(turn._replace(backward=False))

    def flushed(self, turn: Turn) -> Iterator[Turn]:
        """The same pass of all micro-batches if the order flushes the pipeline, else ``turn`` alone."""
        others = range(len(self.micros)) if self.flushes else (turn.micro,)
        yield from (turn._replace(micro=m) for m in others if turn.stage in self.micros[m].before)

    def frees(self, turn: Turn) -> Iterator[Turn]:
        """The turns that need ``turn``, the inverse of ``needs``."""
        stages = self.micros[turn.micro]
        if turn.backward:
            yield from (turn._replace(stage=before) for before in stages.waits[turn.stage])
            return
        yield from (turn._replace(stage=after) for after in stages.after[turn.stage])
        if self.trains:
            yield from self.flushed(turn._replace(backward=True))

    def offer(self, turn: Turn) -> None:
        """Add a turn that waits for nothing to its team's heap: backward first, then forward nearest to the end."""
        if self.missing[turn] == 0:
            level = turn.stage.level
            rank = (0, turn.micro, -level) if turn.backward else (1, -level, turn.micro)
            heappush(self.ready[turn.stage.team], (rank, turn))

    def pick(self, team: int) -> Turn | None:
        """The turn that a free team computes next, or None."""
        if not self.ready[team]:
            return None
        turn = self.ready[team][0][1]
        begins = not turn.backward and self.opens(turn)
        if begins and self.in_flight[team] >= self.limits[team]:
            return None
        self.in_flight[team] += begins
        return heappop(self.ready[team])[1]

    def opens(self, turn: Turn) -> bool:
        """True for the first stage of a team: a micro-batch enters the team there, and leaves it there in backward."""
        return turn.stage == self.micros[turn.micro].of_team[turn.stage.team][0]

    def finish(self, turn: Turn) -> None:
        """Record that ``turn`` has ended, and offer the turns that waited only for it."""
        self.in_flight[turn.stage.team] -= turn.backward and self.opens(turn)
        for freed in self.frees(turn):
            self.missing[freed] -= 1
            self.offer(freed)

    def play(self) -> Iterator[TimedTurn]:
        """All turns in the order in which they begin."""
        free = set(self.teams)
        running = list[tuple[int, Turn]]()
        now = 0
        while True:
            for team in sorted(free):
                turn = self.pick(team)
                if turn is not None:
                    free.discard(team)
                    end = now + (BACKWARD_COST if turn.backward else FORWARD_COST)
                    heappush(running, (end, turn))
                    yield TimedTurn(turn, now, end)
            if not running:
                return
            now = running[0][0]
            # All turns that end now free their teams before one picks: the result depends on no order among them.
            while running and running[0][0] == now:
                over = heappop(running)[1]
                free.add(over.stage.team)
                self.finish(over)


def worker_turns(worker: int, micros: Sequence[StageGraph], order: str, trains: bool = True) -> list[Turn]:
    """The turns of ``worker``, in order, for micro-batches with the given stages."""
    team = micros[0].of_worker(worker)
    if order == DELAYED:
        return list(_sequential_turns(micros, team, trains))
    played = ScheduleSimulation(micros, order, trains).play()
    return [each.turn for each in played if each.turn.stage.team == team]


def _sequential_turns(micros: Sequence[StageGraph], team: int, trains: bool) -> Iterator[Turn]:
    """Each micro-batch forward and then backward; in a delayed step, backward is of an earlier mini-batch."""
    for micro, stages in enumerate(micros):
        own = stages.of_team.get(team, [])
        yield from (Turn(stage, micro, False) for stage in own)
        yield from (Turn(stage, micro, True) for stage in reversed(own) if trains)
