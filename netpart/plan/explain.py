"""Why the helpers around one layer are there: which region is needed, who holds it, and what it costs to move."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from netpart.collectives.kinds import GRADIENT
from netpart.errors import ConfigError
from netpart.graph.build import type_name
from netpart.graph.graph import (
    BRIDGE_DST,
    BRIDGE_SRC,
    CONCATE,
    LAYER,
    SLICE,
    SPLIT,
    SUM,
    Collective,
    Feed,
    Graph,
    Part,
)
from netpart.graph.net import Node
from netpart.graph.partition import Partition
from netpart.graph.passes.totals import is_total
from netpart.plan.cost import moved
from netpart.plan.cuts import place_text
from netpart.plan.diff import kind_of
from netpart.plan.ledger import ledger
from netpart.plan.shares import region_text, shards_text
from netpart.program.instructions import Way
from netpart.proto.fields import nearest
from netpart.spec import whole


@dataclass(frozen=True)
class Reason:
    """A helper, where it is, why it is there, and the bytes that cross workers in it, forward and backward.

    A collective has a Reason of its own, with the bytes of all its messages; its pieces have none.
    """

    helper: str
    where: str
    why: str
    forward: int = 0
    backward: int = 0


@dataclass(frozen=True)
class Piece:
    """One shard of the layer: what it computes, and what it needs of its sources and parameters for that."""

    name: str
    worker: int
    computes: str
    needs: tuple[str, ...]


@dataclass(frozen=True)
class Explanation:
    """One layer of the training net: its shards, the helpers before and behind it, what is summed, and the bytes of
    a step that carry its output and gradients, by what they are."""

    layer: str
    type: str
    cut: str
    pieces: tuple[Piece, ...]
    before: tuple[Reason, ...]
    behind: tuple[Reason, ...]
    sums: tuple[str, ...]
    moves: dict[str, int]


def explain(partition: Partition, name: str) -> Explanation:
    """Explains layer ``name``; helpers are those of the first micro-batch, bytes those of all.

    Raises ConfigError, with the nearest names, for a layer that the training net does not have.
    """
    node, around = find(partition, name), Surroundings(partition)
    return Explanation(
        name, type_name(node.conf).removeprefix("k"),
        place_text(node.layer, partition.graph.placements[node.index]),
        tuple(map(around.piece, around.shards(node))), tuple(around.reasons(around.before(node))),
        tuple(around.reasons(around.behind(node))), tuple(sums(partition, node)), moves(partition, name),
    )  # fmt: skip


def find(partition: Partition, name: str) -> Node:
    """The layer called ``name``; raises ConfigError."""
    known = {node.name: node for node in partition.graph.net.nodes if not node.inserted}
    if name not in known:
        raise ConfigError("explain", "a layer of the training net", repr(name), nearest(name, known))
    return known[name]


class Surroundings:
    """What stands around the layers of a training net."""

    def __init__(self, partition: Partition) -> None:
        self.graph: Graph = partition.graph
        self.readers: dict[int, list[tuple[Part, Feed]]] = defaultdict(list)
        for part in self.graph.parts:
            for feed in part.feeds:
                self.readers[feed.part.index].append((part, feed))
        self.forward, self.backward = crossing(partition)

    def shards(self, node: Node) -> list[Part]:
        """The parts of a layer itself."""
        return [part for part in self.graph.parts if part.kind == LAYER and part.node == node.index]

    def before(self, node: Node) -> list[Part]:
        """The helpers through which a layer is fed, without the sending ends of bridges."""
        found: dict[int, Part] = {}
        waiting = [feed.part for part in self.shards(node) for feed in part.feeds]
        while waiting:
            part = waiting.pop()
            if self.helps(part) and part.index not in found:
                found[part.index] = part
                waiting += [feed.part for feed in part.feeds]
        return [found[index] for index in sorted(found) if found[index].kind != BRIDGE_SRC]

    def behind(self, node: Node) -> list[Part]:
        """The helpers that carry a layer's output, and a total of it, without the sending ends of bridges."""
        nodes = {node.index, *(n.index for n in totals(self.graph, node))}
        return [p for p in self.graph.parts if p.node in nodes and self.helps(p) and p.kind != BRIDGE_SRC]

    def helps(self, part: Part) -> bool:
        """True for what the rewrite inserted: all but the layers of the job."""
        return part.kind != LAYER or self.graph.net.nodes[part.node].inserted

    def piece(self, part: Part) -> Piece:
        """What a shard computes and needs."""
        node = self.graph.net.nodes[part.node]
        shard = self.graph.placements[part.node].shards[part.shard]
        needs = [f"{self.tensor(f.part)} {self.box(f)} {self.supply(f.part)}" for f in part.feeds]
        boxes = zip(node.layer.params, node.layer.needs(part.region, part.term).params, strict=True)
        needs += [f"{p.proto.name or p.key} {region_text(box, whole(p.shape))}" for p, box in boxes if box]
        return Piece(part.name, part.worker, shards_text([shard], node.layer.output.whole), tuple(needs))

    def supply(self, part: Part) -> str:
        """Where what a shard needs comes from."""
        return f"(from {part.name})" if self.helps(part) else "(held here)"

    def tensor(self, part: Part) -> str:
        """The tensor that a part holds a box of: a layer's output, or its label."""
        layer = self.graph.net.nodes[part.node].layer
        return layer.name + (f".{layer.output_names[part.output]}" if part.output else "")

    def box(self, held: Part | Feed) -> str:
        """The box that a part holds, or that a feed takes of one."""
        part = held if isinstance(held, Part) else held.part
        output = part.output if isinstance(held, Part) else max(part.output, held.output)
        return region_text(held.region, self.graph.net.nodes[part.node].layer.outputs[output].whole)

    def reasons(self, parts: Sequence[Part]) -> Iterator[Reason]:
        """Why helpers are there; a collective before the first of its pieces."""
        told: set[Collective] = set()
        for part in parts:
            if part.collective is not None and part.collective not in told:
                told.add(part.collective)
                yield self.whole(part.collective, part)
            yield self.reason(part)

    def whole(self, found: Collective, part: Part) -> Reason:
        """What a collective carries, of which ``part`` is a piece."""
        name, held = called(found), self.graph.net.nodes[part.node].layer.outputs[part.output].whole
        why = f"carries {found.name} {region_text(found.region, held)}; the bytes are those of all its messages"
        why += f"; the gradient returns by {GRADIENT[found.kind]}" if found.backward else ""
        members = ", ".join(map(str, sorted(found.members)))
        return Reason(f"{found.kind} of {found.name}", members, why, self.forward[name], self.backward[name])

    def reason(self, part: Part) -> Reason:
        """Why a helper is there."""
        why = {
            SLICE: self.why_cut, SPLIT: self.why_cut, BRIDGE_DST: self.why_bridge, CONCATE: self.why_join,
            SUM: self.why_join, LAYER: self.why_inserted,
        }[part.kind]  # fmt: skip
        where = f"{part.feeds[0].part.worker} → {part.worker}" if part.kind == BRIDGE_DST else str(part.worker)
        piece = f"; a piece of the {called(part.collective)}" if part.collective else ""
        return Reason(part.name, where, why(part) + piece, self.forward[part.name], self.backward[part.name])

    def why_cut(self, part: Part) -> str:
        """Of a Slice or a Split: who wants which box of what one shard holds."""
        wishes: dict[str, list[str]] = defaultdict(list)
        for reader, feed in self.readers[part.index]:
            there = reader.peer if reader.peer and reader.kind == BRIDGE_SRC else reader
            wishes[self.box(feed)] += [f"{name} on {there.worker}" for name in self.users(reader)]
        wanted = [
            f"{'all of it' if part.kind == SPLIT else box} for {', '.join(dict.fromkeys(users))}"
            for box, users in wishes.items()
        ]
        return f"{self.tensor(part)} {self.box(part)} is held here: {'; '.join(wanted)}"

    def why_bridge(self, part: Part) -> str:
        """Of a bridge: who needs a box that another worker holds."""
        return f"{self.wish(part)}, held by worker {part.feeds[0].part.worker}"

    def why_join(self, part: Part) -> str:
        """Of a Concate or a Sum: who needs what several shards hold."""
        origins = [f.part.feeds[0].part.worker if f.part.kind == BRIDGE_DST else f.part.worker for f in part.feeds]
        workers, pieces = ", ".join(map(str, sorted(set(origins)))), "addends" if part.kind == SUM else "pieces"
        return f"{self.wish(part)}, {len(origins)} {pieces} from workers {workers}"

    def why_inserted(self, part: Part) -> str:
        """Of a part of a total: whose addends it adds up once for all readers; of an inner layer: who must know it."""
        held = f"{self.tensor(part)} {self.box(part)}"
        if is_total(self.graph.net.nodes[part.node]):
            return f"{held} is added up here, once, and then sent to all who need it"
        return f"{held} is what {', '.join(dict.fromkeys(self.users(part)))} must know of the input that is here"

    def wish(self, part: Part) -> str:
        """Who needs which box, of what a helper hands on."""
        return f"for {', '.join(dict.fromkeys(self.users(part)))}: {self.tensor(part)} {self.box(part)}"

    def users(self, part: Part) -> list[str]:
        """The shards that a part feeds in the end."""
        if not self.helps(part):
            return [part.name]
        return [name for reader, _ in self.readers[part.index] for name in self.users(reader)]


def totals(graph: Graph, node: Node) -> list[Node]:
    """The total that the rewrite put behind a layer, if it did."""
    behind = graph.net.nodes[node.index + 1 : node.index + 2]
    return [found for found in behind if is_total(found) and found.sources[0].node == node.index]


def inner(graph: Graph, node: Node) -> list[Node]:
    """The layer that the rewrite put before a layer whose parts must know each other, if it did."""
    before = [graph.net.nodes[source.node] for source in node.sources[-1:]]
    computed = [graph.net.nodes[n.sources[0].node] if is_total(n) else n for n in before]
    return [found for found in computed if found.inserted]


def called(found: Collective) -> str:
    """A collective in words, the same in every micro-batch."""
    return f"{found.kind} of {found.name} among workers {', '.join(map(str, sorted(found.members)))}"


def crossing(partition: Partition) -> tuple[Counter[str], Counter[str]]:
    """Bytes of a step, forward and backward, by what the collective is called or else the receiving end of a bridge."""
    found = {Way.FORWARD: Counter[str](), Way.BACKWARD: Counter[str]()}
    for entry in ledger(partition).entries:
        if entry.channel.way in found:
            part = partition.phases["train"][entry.channel.micro].graph.parts[entry.channel.edge]
            name = called(part.collective) if part.collective else part.name
            found[entry.channel.way][name] += entry.nbytes
    return found[Way.FORWARD], found[Way.BACKWARD]


def moves(partition: Partition, name: str) -> dict[str, int]:
    """Bytes of a step that carry a layer's output, its gradient and those of its parameters, by what they are."""
    entries, graph = ledger(partition).entries, partition.graph
    node = graph.net.by_name[name]
    own = [node, *inner(graph, node)]
    names = [n.name for each in own for n in (each, *totals(graph, each))]
    counts = Counter[str]()
    for kind in dict.fromkeys(map(kind_of, entries)):
        found = moved(partition, [entry for entry in entries if kind_of(entry) == kind])
        counts[kind] = sum(found[each] for each in names)
    return {kind: nbytes for kind, nbytes in counts.items() if nbytes}


def sums(partition: Partition, node: Node) -> Iterator[str]:
    """Which gradients are summed over workers: of the layer's copies, and of its parameters."""
    graph = partition.graph
    if graph.reduced[node.index]:
        yield "its copies hear from their own readers only, and add up the gradients of their output (sum_gradient)"
    for parameter in dict.fromkeys(p for each in (node, *inner(graph, node)) for p in each.params):
        cells = [
            f"{region_text(cell.box, whole(parameter.spec.shape))} over workers {', '.join(map(str, bucket.workers))}"
            + (", each of which updates a share of it" if bucket.sharded else "")
            for bucket in partition.buckets
            for cell in bucket.cells
            if cell.parameter.name == parameter.name
        ]
        if cells:
            yield f"{parameter.name}: each holder sees its own part of the batch or output; summed {'; '.join(cells)}"
        elif parameter.name in partition.trained:
            yield f"{parameter.name}: every holder computes the whole gradient of what it holds; nothing to sum"
