"""Teams: workers that share a layer and therefore pass through the net together. Pipeline stages are separate teams."""

from __future__ import annotations

from collections.abc import Sequence

from netpart.graph.graph import Graph, WorkerTeams


def form_one_team(graph: Graph) -> None:
    """Make all workers one team, as with one micro-batch: they follow the one global order."""
    graph.teams = WorkerTeams((0,) * graph.workers, (0,) * len(graph.net.nodes))


def join_teams(graphs: Sequence[Graph]) -> None:
    """Join the workers that hold shards of one layer in any of ``graphs``, which are micro-batches of one net.

    A team is named by its lowest worker.
    """
    above = list(range(graphs[0].workers))

    def find(worker: int) -> int:
        while above[worker] != worker:
            worker = above[worker]
        return worker

    for placement in (p for graph in graphs for p in graph.placements):
        found = {find(shard.worker) for shard in placement.shards}
        for name in found:
            # Union-find whose root is always the lowest worker, so that teams have the same names whatever the order of
            # layers.
            above[name] = min(found)
    of_worker = tuple(find(worker) for worker in range(len(above)))
    for graph in graphs:
        graph.teams = WorkerTeams(of_worker, tuple(of_worker[p.shards[0].worker] for p in graph.placements))
        _split_team_collectives(graph)


def _split_team_collectives(graph: Graph) -> None:
    """Turn collectives between teams back into single bridges. The bytes stay the same.

    A member of a collective waits until all others start it, but teams are at different micro-batches.
    """
    of_worker = graph.teams.of_worker
    for part in graph.parts:
        if part.collective is not None and len({of_worker[member] for member in part.collective.members}) > 1:
            part.collective = None
    kept = {id(part.collective) for part in graph.parts}
    graph.collectives = [found for found in graph.collectives if id(found) in kept]
