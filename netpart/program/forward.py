"""ForwardCompiler: compiles the forward pass of one micro-batch on one worker."""

from __future__ import annotations

from functools import cached_property

from netpart.graph.graph import BRIDGE_DST, BRIDGE_SRC, CONCATE, GIVE, LAYER, SUM, TAKE, Part, PartInput
from netpart.graph.recomputed import recomputed_nodes
from netpart.kernels.reference import Kernels
from netpart.program.buffer_table import BufferTable
from netpart.program.buffers import Order, View, number_element
from netpart.program.collective_instructions import ExchangeFactory, HeldRegion
from netpart.program.give_take import insert_give_take
from netpart.program.instructions import (
    Accumulate,
    Channel,
    CollectiveStart,
    CollectiveWait,
    Copy,
    Forward,
    Instruction,
    Receive,
    Send,
    Way,
)
from netpart.program.memory_orders import input_order, kept_orders, order_for_shape
from netpart.program.parameters import ParameterMemory
from netpart.program.part_elements import PartElements
from netpart.program.program import Program
from netpart.program.schedules.stages import StageGraph, TeamStage
from netpart.spec import FLOAT, TENSOR, Region, Shape, extent, size


class ForwardCompiler:
    """A compiler of forward instructions; it records the view of every value for backward and for verify. ``marked``
    are the buffers of layers that are recomputed."""

    def __init__(
        self, stages: StageGraph, worker: int, micro: int, phase: int, memory: BufferTable, parameters: ParameterMemory,
        program: Program, kernels: type[Kernels],
    ) -> None:  # fmt: skip
        self.graph = stages.graph
        self.stages = stages
        self.micro = micro
        self.phase = phase
        self.parts = insert_give_take(self.graph.parts_of_worker(worker))
        self.kernels = kernels
        self.orders = kept_orders(stages.graph.net, kernels, stages.graph.crossing_nodes)
        self.elements = PartElements(stages.graph.net, kernels)
        self.exchanges = ExchangeFactory(parameters.partition.job, parameters.partition.workers)
        self.takes = {self.first(part): part for part in self.parts if part.kind == TAKE}
        self.gives = {self.first(part): part for part in self.parts if part.kind == GIVE}
        self.started: dict[int, CollectiveStart] = {}
        self.memory = memory
        self.parameters = parameters
        self.program = program
        self.values: dict[tuple[int, int], View] = {}
        self.calls: dict[int, Forward] = {}
        self.out: list[Instruction] = []
        self.recomputed = recomputed_nodes(self.graph.net, parameters.partition.job.neuralnet)
        self.marked = set[int]()

    @cached_property
    def by_stage(self) -> dict[TeamStage, list[Part]]:
        """The parts of each stage, in order."""
        found: dict[TeamStage, list[Part]] = {}
        for part in self.parts:
            found.setdefault(self.stages.stage_of_part(part), []).append(part)
        return found

    def stage_parts(self, stage: TeamStage) -> list[Part]:
        """The parts of one stage, in order; none if the team has parts in it but this worker has not."""
        return self.by_stage.get(stage, [])

    def run(self, stage: TeamStage) -> list[Instruction]:
        """The instructions of the forward pass of one stage."""
        self.out = []
        for part in self.stage_parts(stage):
            if part.kind == LAYER:
                self.layer(part)
            elif part.kind == BRIDGE_DST:
                self.receive(part)
            elif part.kind in (CONCATE, SUM):
                self.join(part)
            elif part.kind == GIVE:
                self.give(part)
            elif part.kind == TAKE:
                self.out.append(CollectiveWait(self.started[self.first(part)]))
            else:
                self.set_value(part, 0, self.fed(part.feeds[0]))
                if part.kind == BRIDGE_SRC:
                    self.send(part)
        return self.out

    def set_value(self, part: Part, output: int, view: View) -> None:
        self.values[part.index, output] = view
        self.program.values[self.micro, part.index, output] = view

    def fed(self, feed: PartInput) -> View:
        """The view of a feed's value: a box of the value that its part holds."""
        return self.values[feed.part.index, feed.output].crop(
            feed.region, self.graph.held_region(feed.part, feed.output)
        )

    def layer(self, part: Part) -> None:
        node = self.graph.net.nodes[part.node]
        layer = node.layer
        x: list[View | None] = [None] * len(node.sources)
        for feed in part.feeds:
            order = self.order_read(part, extent(feed.region))
            element = self.elements.read(part, feed.k)
            x[feed.k] = self.packed(part, self.fed(feed), f"{part.name}.x{feed.k}", order, element, self.out)
        boxes = layer.needs(part.region, part.term).params
        w = self.parameters.views(node, boxes, self.phase, self.out, self.elements.factors(part))
        after: list[Instruction] = []
        y = [self.fresh(part, o, region, after) for o, region in enumerate(layer.outputs_of(part.region))]
        aux = [self.kept(part, shape, dtype) for shape, dtype in layer.aux(self.kernels, part.region)]
        offsets = {m.layer: m.offset for m in self.program.metrics}
        metrics = offsets.get(node.name) if part.reports else None
        call = Forward(self.micro, part.index, tuple(x), tuple(w), tuple(y), tuple(aux), metrics)
        self.calls[part.index] = call
        self.out += [call, *after]

    def fresh(self, part: Part, output: int, region: Region, after: list[Instruction]) -> View:
        """The view to which the layer of ``part`` writes an output; ``after`` gets the copy to where it is stored."""
        name = f"{part.name}.y{output or ''}"
        stored = self.elements.stored(part, output)
        view = self.new(part, name, extent(region), stored)
        self.set_value(part, output, view)
        written = number_element(stored, self.elements.computed(part))
        if written == stored:
            return view
        aside = self.new(part, name, extent(region), written)
        after.append(Copy(view, aside))
        return aside

    def kept(self, part: Part, shape: Shape, dtype: str) -> View:
        """The view of a buffer that the layer of ``part`` keeps for backward."""
        return self.new(part, f"{part.name}.aux", shape, self.elements.computed(part) if dtype == TENSOR else dtype)

    def order(self, part: Part, shape: Shape) -> Order:
        """The memory order of a tensor of ``shape`` at the node of ``part``."""
        return order_for_shape(self.orders[part.node], shape)

    def order_read(self, part: Part, shape: Shape) -> Order:
        """The memory order in which the layer of ``part`` reads an input of ``shape``, and makes its gradient."""
        net = self.graph.net
        return order_for_shape(input_order(net, net.nodes[part.node], self.kernels, self.orders), shape)

    def new(self, part: Part, name: str, shape: Shape, dtype: str = FLOAT) -> View:
        """A view of a new buffer, in the memory order of the tensors at the node of ``part``."""
        return self.mark(part, self.memory.new(name, shape, dtype, order=self.order(part, shape)))

    def mark(self, part: Part, view: View) -> View:
        """``view``, of which the buffer belongs to the layer of ``part``."""
        if part.node in self.recomputed:
            self.marked.add(view.buffer)
        return view

    def packed(self, part: Part, view: View, name: str, order: Order, element: str, out: list[Instruction]) -> View:
        """``view`` itself if it is one run of memory in ``order``, and any numbers are of ``element``; else a copy for
        ``part``, which ``out`` gets."""
        stored = self.memory.buffers[view.buffer].dtype
        wanted = number_element(stored, element)
        if wanted == stored and self.memory.contiguous(view, order):
            return view
        copy = self.mark(part, self.memory.new(name, view.shape, wanted, order=order))
        out.append(Copy(copy, view))
        return copy

    def receive(self, part: Part) -> None:
        assert part.peer is not None
        view = self.new(part, part.name, extent(part.region), self.elements.stored(part, part.output))
        self.set_value(part, 0, view)
        self.out.append(Receive(view, part.peer.worker, self.channel(Way.FORWARD, part), part.name))

    def send(self, part: Part) -> None:
        assert part.peer is not None
        view = self.values[part.index, 0]
        self.out.append(Send(view, part.peer.worker, self.channel(Way.FORWARD, part.peer), part.name))

    def give(self, part: Part) -> None:
        """Start a collective; what arrives is written to the buffer of its Take."""
        assert part.collective is not None
        take = self.takes[self.first(part)]
        first = self.first(part)
        given, taken = None, None
        if part.feeds:
            given = self.fed(part.feeds[0])
            self.set_value(part, 0, given)
        if take.region:
            taken = self.new(take, take.name, extent(take.region), part.collective.dtype)
            self.set_value(take, 0, taken)
        local = HeldRegion(given, part.region)
        target = HeldRegion(taken, take.region)
        dtype = part.collective.dtype
        channel, found = (
            Channel(self.phase, Way.FORWARD, self.micro, first),
            self.exchanges.of_collective(part.collective),
        )
        order = self.orders[part.node]
        name = part.name
        start = self.exchanges.start(found, part.worker, local, target, self.memory, dtype, channel, name, order)
        self.started[first] = start
        self.out.append(start)

    def first(self, part: Part) -> int:
        """The index that names the collective of a Give or Take: that of the collective's first part."""
        assert part.collective is not None
        return part.collective.first

    def channel(self, way: Way, receiver: Part) -> Channel:
        """The channel of a bridge, named by its receiving half in both directions."""
        return Channel(self.phase, way, self.micro, receiver.index)

    def join(self, part: Part) -> None:
        """Copy boxes into place; in a Sum the first term is copied and the others are added."""
        view = self.new(part, part.name, extent(part.region), self.elements.stored(part, part.output))
        self.set_value(part, 0, view)
        # A Concate's feeds tile the region, so all are copied; the terms of a Sum cover it again and again.
        covered = 0
        for feed in part.feeds:
            target = view.crop(feed.region, part.region)
            source = self.fed(feed)
            self.out.append(Copy(target, source) if covered < size(part.region) else Accumulate(target, source))
            covered += size(feed.region)
