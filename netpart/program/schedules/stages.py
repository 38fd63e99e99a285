"""Stages: the parts of a net that a team of workers computes without waiting for another team.

Workers that share a layer form a team. A pipeline of any shape, with skip edges, several inputs and teams that occur
twice, is described by the graph of its stages:

    level 0     1     2            a level is the number of times that a tensor has changed teams
    team 0 ──▶ 1 ──▶ 0             the stages of team 0 are (0, 0) and (2, 0)
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from netpart.graph.graph import Graph, Part
from netpart.graph.partition import MicroBatch


class TeamStage(NamedTuple):
    """All that ``team`` computes at one depth: ``level`` is the number of times a tensor has changed teams by then."""

    level: int
    team: int


def stage_graphs(micros: Sequence[MicroBatch], delayed: bool = False) -> list[StageGraph]:
    """The stages of each micro-batch; micro-batches with the same graph share one StageGraph."""
    made = {id(micro.graph): StageGraph(micro.graph, delayed) for micro in micros}
    return [made[id(micro.graph)] for micro in micros]


@dataclass
class StageGraph:
    """The stages of a partitioned net; ``levels`` has one entry per node, ``before`` the stages that each stage reads.

    ``delayed``: the stages train on the gradients of earlier mini-batches.
    """

    graph: Graph
    delayed: bool = False
    levels: list[int] = field(init=False, default_factory=list)
    before: dict[TeamStage, set[TeamStage]] = field(init=False)

    def __post_init__(self) -> None:
        nodes = range(len(self.graph.net.nodes))
        for node in nodes:
            self.levels.append(max((self.arrival(s, self.team(node)) for s in self.sources(node)), default=0))
        self.before = {TeamStage(self.levels[node], self.team(node)): set() for node in nodes}
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
        """The lowest level at which ``team`` can have the output of ``node``."""
        return self.levels[node] + (self.team(node) != team)

    def holding(self, node: int, team: int) -> TeamStage:
        """The stage in which ``team`` makes the output of ``node``, or waits for it: the first one that can."""
        earliest = self.arrival(node, team)
        stages = self.of_team[team]
        return next((stage for stage in stages if stage.level >= earliest), stages[-1])

    def stage_of_part(self, part: Part) -> TeamStage:
        """The stage of a part. A helper belongs to the stage that makes what it holds, or in which it arrives."""
        return self.holding(part.node, self.of_worker(part.worker))

    @cached_property
    def of_team(self) -> dict[int, list[TeamStage]]:
        """The stages of each team from the first level to the last."""
        found: dict[int, list[TeamStage]] = {}
        for stage in sorted(self.before):
            found.setdefault(stage.team, []).append(stage)
        return found

    @cached_property
    def after(self) -> dict[TeamStage, set[TeamStage]]:
        """For each stage, the stages that read its outputs, and the next stage of its team."""
        found: dict[TeamStage, set[TeamStage]] = {stage: set() for stage in self.before}
        for stage, sources in self.waits.items():
            for source in sources:
                found[source].add(stage)
        return found

    @cached_property
    def waits(self) -> dict[TeamStage, set[TeamStage]]:
        """For each stage, the stages that must precede it: those that it reads, and the previous one of its team."""
        found = {stage: set(sources) for stage, sources in self.before.items()}
        for stages in self.of_team.values():
            for first, second in itertools.pairwise(stages):
                found[second].add(first)
        return found

    def of_worker(self, worker: int) -> int:
        """The team of a worker."""
        return self.graph.teams.of_worker[worker]

    def in_flight(self, team: int) -> int:
        """The number of micro-batches that keep ``team`` busy: by Little's law, the time until one comes back divided
        by the team's own work on it. It is K - k for stage k of K in a chain of teams (1F1B; PipeDream's NOAM)."""
        if team not in self.of_team:
            return 1
        first = self.of_team[team][0]
        own = len(self.of_team[team])
        return -(-self.path_length[first] // own)

    def delay(self, stage: TeamStage) -> int:
        """Mini-batches by which backward of a stage is later than its forward: 0 at the end of the net, K - 1 at the
        first of a chain of K stages."""
        return self.path_length[stage] - 1 if self.delayed else 0

    @property
    def depth(self) -> int:
        """The greatest delay of all stages."""
        return max(map(self.delay, self.before), default=0)

    @cached_property
    def path_length(self) -> dict[TeamStage, int]:
        """The number of stages on the longest path from each stage, itself included, to the end of the net."""
        longest: dict[TeamStage, int] = {}
        # From the highest level down: what follows a stage has a higher level, so it is known.
        for stage in sorted(self.before, reverse=True):
            longest[stage] = 1 + max((longest[s] for s in self.after[stage]), default=0)
        return longest
