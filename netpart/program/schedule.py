"""Schedules: in which order each worker computes the passes of its micro-batches.

Workers that share a layer form a team; a stage is what one team computes of the net without waiting for another. A
pipeline of any shape, with skip edges, several inputs and teams that come twice, is the graph of its stages. Its
schedule is the record of a rehearsal, in which all teams work at the same pace and each picks, whenever it is free,
what its order prefers. As the record was played once, no worker can wait for who waits for him.

    stage 0   F0 F1 F2             B0──  F3 B1──     B2──     B3──      1F1B on three teams: the first has at most
    stage 1      F0 F1       B0──  F2 B1──  F3 B2──     B3──            3 micro-batches in flight, the last one
    stage 2         F0 B0──  F1 B1──  F2 B2──  F3 B3──
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from heapq import heappop, heappush
from typing import NamedTuple

from netpart.graph.graph import Graph, Part
from netpart.graph.partition import Micro
from netpart.proto.job_pb2 import JobProto, Schedule

ONE_F_ONE_B, GPIPE, DELAYED = "ONE_F_ONE_B", "GPIPE", "DELAYED"
"""Orders: backward first, with as many micro-batches in flight as keep a team busy; all of forward first; forward of
a mini-batch beside backward of an earlier one (``delays.py``)."""
FORWARD_COST, BACKWARD_COST = 1, 2
"""Time that a stage takes in a rehearsal: backward has two products for each of forward."""


class Stage(NamedTuple):
    """What ``team`` computes at one depth: ``level`` is how often a tensor has changed teams by then."""

    level: int
    team: int


class Turn(NamedTuple):
    """One pass of one stage over one micro-batch."""

    stage: Stage
    micro: int
    backward: bool


class Played(NamedTuple):
    """When a Turn is computed in the rehearsal."""

    turn: Turn
    start: int
    end: int


def order_of(job: JobProto) -> str:
    """The order that ``job`` asks for."""
    return Schedule.Order.Name(job.neuralnet.schedule)


def stages_of(micros: Sequence[Micro], delayed: bool = False) -> list[Stages]:
    """The stages of each micro-batch; those with one graph share theirs."""
    made = {id(micro.graph): Stages(micro.graph, delayed) for micro in micros}
    return [made[id(micro.graph)] for micro in micros]


@dataclass
class Stages:
    """The stages of a partitioned net; ``levels`` has one entry per node, ``before`` what each stage reads.

    ``delayed``: they train on the gradients of earlier mini-batches.
    """

    graph: Graph
    delayed: bool = False
    levels: list[int] = field(init=False, default_factory=list)
    before: dict[Stage, set[Stage]] = field(init=False)

    def __post_init__(self) -> None:
        nodes = range(len(self.graph.net.nodes))
        for node in nodes:
            self.levels.append(max((self.arrival(s, self.team(node)) for s in self.sources(node)), default=0))
        self.before = {Stage(self.levels[node], self.team(node)): set() for node in nodes}
        for node in nodes:
            for source in self.sources(node):
                came = self.holding(source, self.team(node))
                self.before[came].add(self.holding(source, self.team(source)))
                self.before[came].discard(came)

    def sources(self, node: int) -> list[int]:
        """The nodes that ``node`` reads."""
        return [source.node for source in self.graph.net.nodes[node].sources]

    def team(self, node: int) -> int:
        """The team that computes ``node``."""
        return self.graph.teams.of_node[node]

    def arrival(self, node: int, team: int) -> int:
        """The level from which on ``team`` can have what ``node`` makes."""
        return self.levels[node] + (self.team(node) != team)

    def holding(self, node: int, team: int) -> Stage:
        """The stage in which ``team`` makes what ``node`` makes, or waits for it: the first that can."""
        earliest = self.arrival(node, team)
        stages = self.of_team[team]
        return next((stage for stage in stages if stage.level >= earliest), stages[-1])

    def of(self, part: Part) -> Stage:
        """The stage of a part: a helper belongs to who makes what it holds, or to where it has arrived."""
        return self.holding(part.node, self.of_worker(part.worker))

    @cached_property
    def of_team(self) -> dict[int, list[Stage]]:
        """The stages of each team from the first level to the last."""
        found: dict[int, list[Stage]] = {}
        for stage in sorted(self.before):
            found.setdefault(stage.team, []).append(stage)
        return found

    @cached_property
    def after(self) -> dict[Stage, set[Stage]]:
        """The stages that read what a stage makes, and the next one of its team."""
        found: dict[Stage, set[Stage]] = {stage: set() for stage in self.before}
        for stage, sources in self.waits.items():
            for source in sources:
                found[source].add(stage)
        return found

    @cached_property
    def waits(self) -> dict[Stage, set[Stage]]:
        """What must be computed before a stage can be: what it reads, and the one before it of its team."""
        found = {stage: set(sources) for stage, sources in self.before.items()}
        for stages in self.of_team.values():
            for first, second in itertools.pairwise(stages):
                found[second].add(first)
        return found

    def of_worker(self, worker: int) -> int:
        """The team of a worker."""
        return self.graph.teams.of_worker[worker]

    def in_flight(self, team: int) -> int:
        """Micro-batches that keep ``team`` busy: by Little's law, the time until one comes back over its own work.

        K - k for stage k of K in a chain of teams (1F1B; PipeDream's NOAM)."""
        if team not in self.of_team:
            return 1
        first, own = self.of_team[team][0], len(self.of_team[team])
        return -(-self.behind[first] // own)

    def delay(self, stage: Stage) -> int:
        """Mini-batches by which backward of a stage is behind its forward: 0 at the end of the net, K - 1 at the
        first of a chain of K stages."""
        return self.behind[stage] - 1 if self.delayed else 0

    @property
    def depth(self) -> int:
        """The greatest delay."""
        return max(map(self.delay, self.before), default=0)

    @cached_property
    def behind(self) -> dict[Stage, int]:
        """Stages of the longest way from each one, itself included, to the end of the net."""
        longest: dict[Stage, int] = {}
        for stage in sorted(self.before, reverse=True):
            longest[stage] = 1 + max((longest[s] for s in self.after[stage]), default=0)
        return longest


class Rehearsal:
    """Plays forward and backward of micro-batches, each with its stages, on teams that work at the same pace.

    ``trains`` says that backward is computed as well.
    """

    def __init__(self, micros: Sequence[Stages], order: str, trains: bool = True) -> None:
        self.micros, self.flushes, self.trains = micros, order == GPIPE, trains
        self.teams = sorted({stage.team for stages in micros for stage in stages.before})
        self.limits = {team: self.limit(team) for team in self.teams}
        self.ready: dict[int, list[tuple[tuple[int, int, int], Turn]]] = {team: [] for team in self.teams}
        self.in_flight = dict.fromkeys(self.teams, 0)
        self.missing = {turn: sum(1 for _ in self.needs(turn)) for turn in self.turns()}
        for turn in self.missing:
            self.offer(turn)

    def limit(self, team: int) -> int:
        """Micro-batches that a team may have in flight."""
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
        """Turns that must be over before ``turn``."""
        stages = self.micros[turn.micro]
        if not turn.backward:
            yield from (turn._replace(stage=before) for before in stages.waits[turn.stage])
            return
        yield from (turn._replace(stage=after) for after in stages.after[turn.stage])
        yield from self.flushed(turn._replace(backward=False))

    def flushed(self, turn: Turn) -> Iterator[Turn]:
        """The same pass of all micro-batches that have to go through together, or ``turn`` alone."""
        others = range(len(self.micros)) if self.flushes else (turn.micro,)
        yield from (turn._replace(micro=m) for m in others if turn.stage in self.micros[m].before)

    def frees(self, turn: Turn) -> Iterator[Turn]:
        """Turns that need ``turn``."""
        stages = self.micros[turn.micro]
        if turn.backward:
            yield from (turn._replace(stage=before) for before in stages.waits[turn.stage])
            return
        yield from (turn._replace(stage=after) for after in stages.after[turn.stage])
        if self.trains:
            yield from self.flushed(turn._replace(backward=True))

    def offer(self, turn: Turn) -> None:
        """Puts a turn that waits for nothing on its team's list: backward first, then what is nearest to the end."""
        if self.missing[turn] == 0:
            level = turn.stage.level
            rank = (0, turn.micro, -level) if turn.backward else (1, -level, turn.micro)
            heappush(self.ready[turn.stage.team], (rank, turn))

    def pick(self, team: int) -> Turn | None:
        """What a free team computes next, if anything may be."""
        if not self.ready[team]:
            return None
        turn = self.ready[team][0][1]
        begins = not turn.backward and self.opens(turn)
        if begins and self.in_flight[team] >= self.limits[team]:
            return None
        self.in_flight[team] += begins
        return heappop(self.ready[team])[1]

    def opens(self, turn: Turn) -> bool:
        """True at the stage that a micro-batch meets first of its team, and leaves last."""
        return turn.stage == self.micros[turn.micro].of_team[turn.stage.team][0]

    def finish(self, turn: Turn) -> None:
        """Notes that ``turn`` is over."""
        self.in_flight[turn.stage.team] -= turn.backward and self.opens(turn)
        for freed in self.frees(turn):
            self.missing[freed] -= 1
            self.offer(freed)

    def play(self) -> Iterator[Played]:
        """All turns in the order in which they begin."""
        free, running, now = set(self.teams), list[tuple[int, Turn]](), 0
        while True:
            for team in sorted(free):
                turn = self.pick(team)
                if turn is not None:
                    free.discard(team)
                    end = now + (BACKWARD_COST if turn.backward else FORWARD_COST)
                    heappush(running, (end, turn))
                    yield Played(turn, now, end)
            if not running:
                return
            now = running[0][0]
            while running and running[0][0] == now:
                over = heappop(running)[1]
                free.add(over.stage.team)
                self.finish(over)


def turns_of(worker: int, micros: Sequence[Stages], order: str, trains: bool = True) -> list[Turn]:
    """What ``worker`` computes, in order, of micro-batches with the given stages."""
    team = micros[0].of_worker(worker)
    if order == DELAYED:
        return list(one_by_one(micros, team, trains))
    played = Rehearsal(micros, order, trains).play()
    return [each.turn for each in played if each.turn.stage.team == team]


def one_by_one(micros: Sequence[Stages], team: int, trains: bool) -> Iterator[Turn]:
    """Each micro-batch forward and then backward: in a delayed step, backward of an earlier mini-batch."""
    for micro, stages in enumerate(micros):
        own = stages.of_team.get(team, [])
        yield from (Turn(stage, micro, False) for stage in own)
        yield from (Turn(stage, micro, True) for stage in reversed(own) if trains)
