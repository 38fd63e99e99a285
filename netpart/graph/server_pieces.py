"""Pass: cuts the parameters into pieces and assigns each to a server; servers are workers that compute nothing.

A parameter that several workers of a group hold is cut at the bounds of their boxes; a large one also where a server's
share is full. The workers that hold a piece take turns in pushing gradients: each pushes some pieces. All pull values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from netpart.graph.holdings import Holding, ServerPiece
from netpart.graph.net import Parameter
from netpart.graph.partition import Partition
from netpart.graph.passes.cells import disjoint_cells
from netpart.spec import Region, contains, size, split_box


def add_job_servers(partition: Partition) -> Partition:
    """``partition`` with the servers that its job asks for."""
    servers = partition.cluster.servers
    return add_servers(partition, servers) if servers else partition


def add_servers(partition: Partition, servers: int) -> Partition:
    """``partition`` with its parameters on ``servers`` additional workers.

    Pieces are assigned in order of decreasing size, each to the server with the smallest load so far.
    """
    found = sorted(_server_cells(partition.holdings, servers), key=lambda cell: -size(cell[1]))
    loads = [0] * servers
    made = list[ServerPiece]()
    for number, (parameter, box, holders) in enumerate(found):
        server = loads.index(min(loads))
        loads[server] += size(box)
        # Rotation spreads the pushes over the holders; their summed gradients have equal bits, so any of them can push.
        pusher = holders[number % len(holders)]
        made.append(ServerPiece(parameter, box, number, partition.workers + server, pusher, holders))
    kept = [[Holding(p.parameter, p.box) for p in made if p.server == partition.workers + s] for s in range(servers)]
    holdings = [*partition.holdings, *kept]
    workers = partition.workers + servers
    return replace(partition, workers=workers, holdings=holdings, servers=servers, pieces=made)


def _server_cells(
    holdings: Sequence[Sequence[Holding]], servers: int
) -> Iterator[tuple[Parameter, Region, tuple[int, ...]]]:
    """The parameters in boxes no larger than a server's share, each with the workers that hold it."""
    held: dict[str, list[tuple[int, Holding]]] = {}
    for worker, of_worker in enumerate(holdings):
        for holding in of_worker:
            held.setdefault(holding.parameter.name, []).append((worker, holding))
    found = [(of[0][1].parameter, box, of) for of in held.values() for box in disjoint_cells({h.box for _, h in of})]
    share = -(-sum(size(box) for _, box, _ in found) // servers)
    for parameter, cell, of in found:
        holders = tuple(worker for worker, holding in of if contains(holding.box, cell))
        for box in [cell] if servers == 1 else split_box(cell, share):
            yield parameter, box, holders
