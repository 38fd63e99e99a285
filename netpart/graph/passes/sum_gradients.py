"""Pass: decides which worker holds which box of each parameter, and which gradients are summed (docs/regions.md,
D11).

The needed regions of a parameter, over all layers that share it and all phases, are cut into disjoint cells. A cell on
several workers is summed over them, unless all contributions are whole gradients of full replicas that are bit-equal
without communication. Cells of the same workers share static buckets, packed in the order in which backward completes
them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from netpart.box_index import BoxIndex
from netpart.collectives.buckets import pack_buckets
from netpart.graph.graph import LAYER, Graph, Part
from netpart.graph.holdings import Bucket, Holding, ParameterCell, ReadyCell
from netpart.graph.net import Net, Parameter
from netpart.graph.passes.cells import BoxHolders, disjoint_cells, disjoint_hulls
from netpart.graph.passes.update_sharding import NEVER, shard_weight_updates
from netpart.spec import Region, size

Group = tuple[int, int, Region, Region | None, tuple[int, ...]]
"""(graph, node, region, term, slots): identifies what the replicas of one part compute together."""


@dataclass(frozen=True)
class ParameterUse:
    """One part's need of one parameter. ``group`` identifies the class of replicas of the part; the replicas of a
    ``full`` class hold whole gradients, those of one that ``agrees`` the same bits. ``names`` are all parameters of the
    group.

    Running statistics are not gradients: whatever their readers do, each replica computes the whole of them.
    """

    part: Part
    slot: int
    box: Region
    group: Group
    full: bool
    agrees: bool
    names: tuple[str, ...]


@dataclass(frozen=True)
class LocatedCell:
    """A cell, the workers that hold it, and the uses that contain it, in graph order. A worker that stores its needs as
    their hull holds more than it uses. It still takes part in those sums: it updates the cells, and copies must stay
    equal."""

    cell: ParameterCell
    workers: tuple[int, ...]
    users: list[ParameterUse]


@dataclass
class ParameterPlan:
    """``holdings[worker]``, the buckets in the order in which they become ready, names of trained parameters."""

    holdings: list[list[Holding]]
    buckets: list[Bucket] = field(default_factory=list)
    trained: set[str] = field(default_factory=set)


def plan_parameters(
    graphs: Sequence[Graph], workers: int, itemsize: int, first_bucket: int, least: int = NEVER
) -> ParameterPlan:
    """Plan parameters over the graphs of all phases and micro-batches, and mark the parts that train them. Updates of
    cells with at least ``least`` elements are sharded."""
    plan = ParameterPlan([[] for _ in range(workers)])
    cells: dict[str, list[LocatedCell]] = {}
    for parameter, uses in _gather_uses(graphs).items():
        held = {w: disjoint_hulls(boxes) for w, boxes in _needed_boxes(uses).items()}
        for worker, boxes in held.items():
            plan.holdings[worker] += [Holding(parameter, box) for box in boxes]
        cells[parameter.name] = _locate_cells(parameter, uses, held)
    plan.trained = {name for graph in graphs for name in _changing_parameters(graph.net)}
    ready = _summed_cells(cells)
    plan.buckets = _pack_buckets(ready, itemsize, first_bucket, shard_weight_updates(ready, plan.holdings, least))
    return plan


def _changing_parameters(net: Net) -> Iterator[str]:
    """The names of the parameters that a step changes: those of trained layers which are not only read."""
    for node in (n for n in net.nodes if net.trained[n.index]):
        yield from (p.name for p, spec in zip(node.params, node.layer.params, strict=True) if not spec.read_only)


def _gather_uses(graphs: Sequence[Graph]) -> dict[Parameter, list[ParameterUse]]:
    """Every need of every parameter, keyed by name over all graphs; marks contributing parts as training."""
    uses: dict[str, list[ParameterUse]] = {}
    named: dict[str, Parameter] = {}
    for g, graph in enumerate(graphs):
        for part in graph.parts:
            node = graph.net.nodes[part.node]
            if part.kind != LAYER or not node.params:
                continue
            pairs = list(zip(node.layer.needs(part.region, part.term).params, node.layer.params, strict=True))
            part.trains = tuple(part.live and box is not None and not spec.read_only for box, spec in pairs)
            for slot, (parameter, (box, _)) in enumerate(zip(node.params, pairs, strict=True)):
                # By name: the nets of other phases have Parameter objects of their own.
                named.setdefault(parameter.name, parameter)
                if box is not None:
                    uses.setdefault(parameter.name, []).append(_parameter_use(graphs, g, part, slot, box))
    return {named[name]: found for name, found in uses.items()}


def _parameter_use(graphs: Sequence[Graph], g: int, part: Part, slot: int, box: Region) -> ParameterUse:
    """The need of ``box`` of one parameter by a part of graph ``g``."""
    graph = graphs[g]
    node = graphs[g].net.nodes[part.node]
    running = [spec.running is not None for spec in node.layer.params]
    together = (slot,) if running[slot] else tuple(s for s, runs in enumerate(running) if not runs)
    several = not graph.placements[part.node].has_no_replicas
    full = several and (running[slot] or graph.full[part.node])
    agrees = graph.agree[part.node] and not running[slot]
    names = tuple(node.params[s].name for s in together)
    return ParameterUse(part, slot, box, (g, part.node, part.region, part.term, together), full, agrees, names)


def _needed_boxes(uses: list[ParameterUse]) -> dict[int, list[Region]]:
    """The boxes that each worker needs, workers in ascending order."""
    needed: dict[int, list[Region]] = {}
    # The order of this dict is relied on: ``BoxHolders`` iterates it and returns workers in ascending order.
    for u in sorted(uses, key=lambda u: u.part.worker):
        needed.setdefault(u.part.worker, []).append(u.box)
    return needed


def _summed_cells(cells: dict[str, list[LocatedCell]]) -> list[ReadyCell]:
    """The cells to sum, with the time of their last contribution. Mutes all but one of each class of full replicas
    where they add to a sum, in all their parameters: the weight and the bias of a layer are one computation."""
    _mute_replica_gradients(_summed_parameters(cells), cells)
    found: list[ReadyCell] = []
    for located in cells.values():
        for c in located:
            training = [u.part.index for u in c.users if u.part.trains[u.slot]]
            if len(c.workers) > 1 and training and not _is_whole_everywhere(c):
                # Backward runs in reverse graph order, so the part with the lowest index contributes last. Negated, the
                # cells that complete first sort first.
                found.append((-min(training), c.workers, c.cell))
    return found


def _summed_parameters(cells: dict[str, list[LocatedCell]]) -> set[str]:
    """Names of parameters that some holder cannot compute whole by itself, and of all others of the same replicas."""
    summed: set[str] = set()
    waiting = [name for name, located in cells.items() if not all(_is_whole_everywhere(c) for c in located)]
    while waiting:
        name = waiting.pop()
        if name in cells and name not in summed:
            summed.add(name)
            # A muted replica is muted in all its parameters, so each of these needs the sum too. This can reach further
            # layers that share them.
            waiting += {n for c in cells[name] if len(c.workers) > 1 for u in c.users if u.full for n in u.names}
    return summed


def _mute_replica_gradients(summed: set[str], cells: dict[str, list[LocatedCell]]) -> None:
    """Let only the first of each class of full replicas add its gradients to the sums."""
    first: dict[Group, Part] = {}
    for name in cells:
        for u in (u for c in cells[name] if name in summed for u in c.users):
            if u.full and u.part.live and first.setdefault(u.group, u.part) is not u.part:
                u.part.trains = tuple(t and slot not in u.group[-1] for slot, t in enumerate(u.part.trains))


def _locate_cells(parameter: Parameter, uses: list[ParameterUse], held: dict[int, list[Region]]) -> list[LocatedCell]:
    """The cells of one parameter."""
    boxes = {u.box for u in uses} | {box for of_worker in held.values() for box in of_worker}
    # ``held`` has the workers in ascending order, and so have the cells.
    holders = BoxHolders(held)
    index = BoxIndex([u.box for u in uses])
    return [
        LocatedCell(
            ParameterCell(parameter, box), holders.find_holders(box), [uses[i] for i in index.find_containing(box)]
        )
        for box in disjoint_cells(boxes)
    ]


def _is_whole_everywhere(cell: LocatedCell) -> bool:
    """True if every worker that holds the cell computes all of the same contributions, bit by bit."""
    training = [u for u in cell.users if u.part.trains[u.slot]]
    if len(cell.workers) == 1 or not training:
        return True
    made: dict[int, list[tuple[Group, int]]] = {w: [] for w in cell.workers}
    for u in training:
        made[u.part.worker].append((u.group, u.slot))
    return all(u.agrees for u in training) and all(m == made[cell.workers[0]] for m in made.values())


def _pack_buckets(ready: list[ReadyCell], itemsize: int, first_bucket: int, alone: set[ParameterCell]) -> list[Bucket]:
    """Pack cells of the same workers in order of readiness; buckets are ordered by their last cell. Cells in ``alone``
    get sharded buckets of their own."""
    by_workers: dict[tuple[int, ...], list[tuple[int, ParameterCell]]] = {}
    buckets: list[tuple[int, Bucket]] = []
    for when, workers, cell in sorted(ready, key=lambda r: r[0]):
        if cell in alone:
            buckets.append((when, Bucket(workers, (cell,), sharded=True)))
        else:
            by_workers.setdefault(workers, []).append((when, cell))
    # A bucket can be sent when its last cell is ready, so it is ordered by that cell. All workers use this order.
    for workers, cells in by_workers.items():
        for group in pack_buckets([size(c.box) * itemsize for _, c in cells], first=first_bucket):
            buckets.append((cells[group[-1]][0], Bucket(workers, tuple(cells[i][1] for i in group))))
    return [bucket for _, bucket in sorted(buckets, key=lambda b: b[0])]
