"""WorkerShape: all that a worker's Programs depend on, without its number and its place in tensors and collectives.

Two workers of equal shape have the same Programs except for names, for peers, and for the regions of the tensors that
they hold. So they have the same buffers, of the same sizes, for the same time: one of them is compiled for both. Of n
workers that cut every layer on the batch, a few have different shapes: where rows do not divide evenly.

Regions count by their extents. Regions of one buffer also count by their distances from each other, as they may
overlap. What a shape includes beyond need makes two equal workers differ at worst: then both are compiled.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence

from netpart.choices import DIRECT
from netpart.graph.graph import LAYER, Graph, Part
from netpart.graph.holdings import Bucket
from netpart.graph.partition import Partition
from netpart.kernels.reference import Kernels
from netpart.program.collective_instructions import ExchangeFactory
from netpart.program.exchange import Exchange
from netpart.program.give_take import insert_give_take
from netpart.program.gradient_norm import NORM_DTYPE
from netpart.spec import Region, contains, extent, whole_region

Shape = Hashable
Corner = tuple[int, int]
"""(index of a part, output)."""


class WorkerShape:
    """The shape of ``worker``. ``parts`` are its parts by the identity of their graph, as the compiler reads them."""

    def __init__(self, partition: Partition, worker: int, kernels: type[Kernels], exchanges: ExchangeFactory) -> None:
        self.partition = partition
        self.worker = worker
        self.kernels = kernels
        self.exchanges = exchanges
        self.holdings = partition.holdings[worker]
        self.held: dict[str, list[int]] = {}
        for h, holding in enumerate(self.holdings):
            self.held.setdefault(holding.parameter.name, []).append(h)
        graphs = {id(m.graph): m.graph for micros in partition.phases.values() for m in micros}
        self.parts = {key: insert_give_take(graph.parts_of_worker(worker)) for key, graph in graphs.items()}
        self.key: Shape = (
            tuple(self.graph_shape(graph, self.parts[key]) for key, graph in graphs.items()),
            tuple(self.holding_shapes()),
            tuple(self.bucket_shape(partition.buckets[b]) for b in partition.bucket_numbers(worker)),
            tuple(self.norm_shape()),
        )

    def graph_shape(self, graph: Graph, parts: Sequence[Part]) -> Shape:
        """The shape of the parts in one graph. The team counts as it is: other teams have other stages."""
        place = {part.index: i for i, part in enumerate(parts)}
        corners = _reading_corners(parts)
        team = graph.teams.of_worker[self.worker]
        return team, tuple(self.part_shape(graph, part, place, corners) for part in parts)

    def part_shape(
        self, graph: Graph, part: Part, place: dict[int, int], corners: Mapping[Corner, Sequence[int]]
    ) -> Shape:
        """The shape of one part."""
        peer = None if part.peer is None else graph.teams.of_worker[part.peer.worker]
        corner = [lo for lo, _ in part.region]
        owned = None if part.owned is None else tuple([_relative_box(box, corner) for box in part.owned])
        return (
            part.kind, part.node, part.output, part.live, part.reports, part.trains, extent(part.region),
            part.term and extent(part.term), owned, self.feed_shapes(part, place, corners), peer,
            self.layer_shape(graph, part), self.summed_shape(graph, part), self.collective_shape(part),
        )  # fmt: skip

    def feed_shapes(self, part: Part, place: dict[int, int], corners: Mapping[Corner, Sequence[int]]) -> Shape:
        """The places of the parts that a part reads, in order, and the regions that it reads."""
        return tuple(
            (place.get(feed.part.index, -1), feed.k, feed.output, feed.gradient)
            + _relative_box(feed.region, corners[feed.part.index, feed.output])
            for feed in part.feeds
        )

    def layer_shape(self, graph: Graph, part: Part) -> Shape:
        """What a layer makes and keeps for the region of ``part``, and the boxes of parameters that it reads."""
        if part.kind != LAYER:
            return None
        node = graph.net.nodes[part.node]
        boxes = zip(node.params, node.layer.needs(part.region, part.term).params, strict=True)
        read = tuple(None if box is None else self.box_shape(p.name, box) for p, box in boxes)
        kept = tuple((shape, str(dtype)) for shape, dtype in node.layer.aux(self.kernels, part.region))
        return read, kept, tuple(map(extent, node.layer.outputs_of(part.region)))

    def box_shape(self, name: str, box: Region) -> Shape:
        """A box of a parameter: the holding that has it, and its place there."""
        h = next(h for h in self.held[name] if contains(self.holdings[h].box, box))
        return h, _relative_box(box, [lo for lo, _ in self.holdings[h].box])

    def summed_shape(self, graph: Graph, part: Part) -> Shape:
        """The sum of a part's gradient over its replicas."""
        if not part.members:
            return None
        workers = tuple(sorted(p.worker for p in part.members))
        element = graph.net.element(part.node, part.output)
        return self.exchange_shape(self.exchanges.summed(workers, whole_region(extent(part.region)), element))

    def collective_shape(self, part: Part) -> Shape:
        """The collective that a Give or a Take belongs to, seen from this worker."""
        if part.collective is None:
            return None
        found = part.collective
        whole = part.region == found.region
        forward = self.exchange_shape(self.exchanges.of_collective(found), whole)
        back = self.exchange_shape(self.exchanges.of_collective(found, True), whole) if found.backward else None
        return found.kind, found.dtype, extent(found.region), forward, back

    def holding_shapes(self) -> Iterator[Shape]:
        """What the worker stores of each parameter."""
        for holding in self.holdings:
            name = holding.parameter.name
            home = holding.part and _relative_box(holding.part, [lo for lo, _ in holding.box])
            yield name, extent(holding.box), home and home[0], name in self.partition.trained

    def bucket_shape(self, bucket: Bucket) -> Shape:
        """The sum of some gradients of parameters, seen from this worker."""
        cells = tuple((c.parameter.name, self.box_shape(c.parameter.name, c.box)) for c in bucket.cells)
        return cells, tuple((way, self.exchange_shape(e)) for way, e in self.exchanges.of_bucket(bucket).items())

    def norm_shape(self) -> Iterator[Shape]:
        """The squares that the worker adds to the norm of the gradient."""
        norm = self.partition.norm
        if norm is not None and self.worker in norm.workers:
            for cell in norm.counted[self.worker]:
                yield cell.parameter.name, self.box_shape(cell.parameter.name, cell.box)
            yield self.exchange_shape(self.exchanges.summed(norm.workers, ((0, 1),), NORM_DTYPE))

    def exchange_shape(self, found: Exchange, whole: bool = True) -> Shape:
        """A collective, seen from this worker, which has memory for the ``whole`` tensor or for some blocks of it."""
        place = found.place(self.worker)
        common = found.kind, found.algorithm, len(found.members)
        if not whole and found.algorithm != DIRECT and len(set(found.sizes)) > 1:
            # Blocks of several sizes that are only forwarded get buffers in the order of the places.
            return *common, found.sizes, place
        return *common, sum(found.sizes), found.place_shapes[place]


class MemoryShape(WorkerShape):
    """The shape of a worker for the memory that it takes: the order and the places in which regions are read do not
    count."""

    def feed_shapes(self, part: Part, place: dict[int, int], corners: Mapping[Corner, Sequence[int]]) -> Shape:
        """The places of the parts that a part reads, and the extents of what it reads, sorted: of many workers that
        read from each other, each has its own part at another place of the order."""
        read = [(place.get(f.part.index, -1), f.k, f.output, f.gradient, extent(f.region)) for f in part.feeds]
        return tuple(sorted(read))


class LevelShape(MemoryShape):
    """The shape of a worker in which blocks of a collective are alike whatever their sizes, too: the instructions of
    equal workers are the same, but for the sizes of some buffers, and the order in which regions are read."""

    def exchange_shape(self, found: Exchange, whole: bool = True) -> Shape:
        """The kind of a collective, its number of members, and the role of the worker."""
        return found.kind, found.algorithm, len(found.members), found.roles[found.place(self.worker)]

    def holding_shapes(self) -> Iterator[Shape]:
        """What the worker stores of each parameter, without the block that it updates."""
        for holding in self.holdings:
            name = holding.parameter.name
            yield name, extent(holding.box), name in self.partition.trained


def _reading_corners(parts: Sequence[Part]) -> dict[Corner, tuple[int, ...]]:
    """The lowest corner of all boxes that are read of each output of each part."""
    read: dict[Corner, list[Region]] = {}
    for part in parts:
        for feed in part.feeds:
            read.setdefault((feed.part.index, feed.output), []).append(feed.region)
    return {key: tuple(min(lo for lo, _ in spans) for spans in zip(*boxes, strict=True)) for key, boxes in read.items()}


def _relative_box(box: Region, corner: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The extents of a box, and its distance from a corner."""
    return extent(box), tuple(lo - start for (lo, _), start in zip(box, corner, strict=True))


def find_equal_workers(
    partition: Partition, kernels: type[Kernels], kind: type[WorkerShape] = WorkerShape
) -> Iterator[WorkerShape]:
    """The shape of each worker of a group, of a ``kind`` of shape; those of equal workers have equal keys.

    With servers, or several groups, every worker has a key of its own: few workers share a server.
    """
    exchanges = ExchangeFactory(partition.job, partition.workers)
    numbers = range(partition.workers - partition.servers)
    alike = not partition.servers and partition.cluster.groups == 1
    for worker in numbers:
        shape = kind(partition, worker, kernels, exchanges)
        shape.key = shape.key if alike else worker
        yield shape
