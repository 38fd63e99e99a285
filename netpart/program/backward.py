"""BackwardCompiler: compiles the backward pass of a micro-batch on one worker, along feeds that need a gradient."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from netpart.graph.graph import BRIDGE_DST, BRIDGE_SRC, GIVE, LAYER, SLICE, SPLIT, TAKE, Part, PartInput
from netpart.layers.layer import Layer
from netpart.program.accumulate import Accumulator
from netpart.program.buffers import View
from netpart.program.collective_instructions import HeldRegion
from netpart.program.forward import ForwardCompiler
from netpart.program.instructions import (
    Accumulate,
    Backward,
    Channel,
    CollectiveStart,
    CollectiveWait,
    Copy,
    Instruction,
    Receive,
    Send,
    Way,
    Zero,
)
from netpart.program.schedules.stages import TeamStage
from netpart.program.updates import UpdateCompiler
from netpart.spec import Region, extent, remaining_boxes

Consumer = tuple[Part, int]
"""A part and the index of the feed through which it reads."""


class BackwardCompiler:
    """A compiler of the backward instructions of the micro-batch that ``forward`` compiled."""

    def __init__(self, forward: ForwardCompiler, updates: UpdateCompiler) -> None:
        self.forward = forward
        self.memory = forward.memory
        self.graph = forward.graph
        self.parameters = forward.parameters
        self.updates = updates
        self.out: list[Instruction] = []
        self.views: dict[int, View] = {}
        self.sums: dict[int, Accumulator] = {}
        self.consumers: dict[int, list[Consumer]] = {}
        self.reduced: dict[int, CollectiveStart] = {}
        self.started: dict[int, CollectiveStart] = {}
        # In the order of the backward pass: an Accumulator lets the first contribution overwrite.
        for part in chain.from_iterable(map(self.parts, sorted(forward.by_stage, reverse=True))):
            for i, feed in enumerate(part.feeds):  # a receiving bridge reads from another worker
                if feed.gradient and part.kind != BRIDGE_DST:
                    self.consumers.setdefault(feed.part.index, []).append((part, i))

    def run(self, stage: TeamStage) -> list[Instruction]:
        """The instructions of the backward pass of one stage."""
        self.out = []
        for part in self.parts(stage):
            if part.live:
                self.part(part)
        return self.out

    def parts(self, stage: TeamStage) -> Iterator[Part]:
        """The parts of one stage in the order of the backward pass."""
        return reversed(self.forward.stage_parts(stage))

    def part(self, part: Part) -> None:
        if part.kind == LAYER:
            self.layer(part)
        elif part.kind == BRIDGE_DST:
            self.send(part)
        elif part.kind == TAKE:
            self.start(part)
        else:
            if part.kind == BRIDGE_SRC:
                self.receive(part)
            elif part.kind == GIVE:
                self.out.append(CollectiveWait(self.started[self.forward.first(part)]))
            for i, feed in enumerate(part.feeds):
                if feed.gradient:
                    self.hand_back(part, i, feed)

    def sum_of(self, part: Part) -> Accumulator:
        """The plan of the contributions to the gradient of ``part`` from its readers on this worker."""
        found = self.sums.get(part.index)
        if found is None:
            readers = self.consumers.get(part.index, [])
            contributions = [((reader.index, i), reader.feeds[i].region) for reader, i in readers]
            found = self.sums[part.index] = Accumulator(part.region, contributions)
        return found

    def gradient(self, part: Part) -> View:
        """The view of the gradient of ``part``: a box of its source's gradient, if it may overwrite that."""
        view = self.views.get(part.index)
        if view is None:
            element = self.forward.elements.stored(part, part.output)
            view = self.views[part.index] = self.borrowed(part) or self.forward.new(
                part, f"d({part.name})", extent(part.region), element
            )
            self.forward.program.gradients[self.forward.micro, part.index] = view
            # Without readers here no contribution will overwrite the gradient; what peers return, they overwrite.
            if not self.sum_of(part).contributions:
                gaps = remaining_boxes(part.region, self.returned(part))
                self.out += [Zero(view.crop(gap, part.region)) for gap in gaps]
        return view

    def returned(self, part: Part) -> list[Region]:
        """The regions of a gradient that other workers return, for a part that no part on this worker reads. Regions
        that no worker read are not returned."""
        if part.kind == BRIDGE_SRC:
            return [part.region]
        if part.kind != GIVE:
            return []
        assert part.collective is not None
        blocks = self.forward.exchanges.of_collective(part.collective, backward=True).blocks
        return [block for block in blocks if block is not None]

    def borrowed(self, part: Part) -> View | None:
        """A view into the source's gradient for a part that only passes gradients on."""
        if part.kind not in (SLICE, SPLIT, BRIDGE_SRC, GIVE) or not part.feeds[0].gradient:
            return None
        feed = part.feeds[0]
        if not self.sum_of(feed.part).tiled:
            return None
        view = self.gradient(feed.part).crop(feed.region, feed.part.region)
        loose = part.kind in (BRIDGE_SRC, GIVE)  # what comes as a message is copied, so no kernel needs one run
        return view if loose or self.memory.contiguous(view, self.forward.order(part, view.shape)) else None

    def hand_back(self, part: Part, i: int, feed: PartInput) -> None:
        """Add a box of a helper's gradient to its source's gradient; do nothing if it was written there directly."""
        source = self.gradient(part).crop(feed.region, part.region)
        target = self.gradient(feed.part).crop(feed.region, feed.part.region)
        if source == target:
            return
        total = self.sum_of(feed.part)
        key = (part.index, i)
        if total.must_zero(key):
            self.out.append(Zero(self.gradient(feed.part)))
        self.out.append(Copy(target, source) if total.overwrites(key) else Accumulate(target, source))

    def layer(self, part: Part) -> None:
        node = self.graph.net.nodes[part.node]
        dy: tuple[View | None, ...] = ()
        if not node.layer.is_loss:
            above = self.gradient(part)
            if part.members:
                self.all_reduce(part)
            order = self.forward.order(part, above.shape)
            element = self.forward.elements.computed(part)
            above = self.forward.packed(part, above, f"{part.name}.dy", order, element, self.out)
            dy = (above, *(None for _ in node.layer.outputs[1:]))
        after: list[Instruction] = []
        dx: list[View | None] = [None] * len(node.sources)
        adds = [False] * len(node.sources)
        for i, feed in enumerate(part.feeds):
            if feed.gradient:
                dx[feed.k], adds[feed.k] = self.input_gradient_target(part, i, feed, self.can_add(node.layer), after)
        dw, weights_after = self.parameters.gradient_targets(self.forward.micro, part, node, self.out)
        if any(v is not None for v in (*dx, *dw)):
            call = self.forward.calls[part.index]
            again = node.layer.rereads
            x = call.x if "x" in again else ()
            reads = (*call.w, *(call.y if "y" in again else ()), *call.aux)
            self.out.append(Backward(self.forward.micro, part.index, dy, tuple(dx), tuple(dw), x, reads, tuple(adds)))
        self.out += after + weights_after
        self.updates.complete(self.forward.micro, part, self.forward.phase, self.out)

    def can_add(self, layer: Layer) -> bool:
        """True if ``layer`` can add the gradients of its inputs to what is there."""
        return layer.adds_gradients or layer.gradient_verb in self.forward.kernels.adds

    def input_gradient_target(
        self, part: Part, i: int, feed: PartInput, adds: bool, after: list[Instruction]
    ) -> tuple[View, bool]:
        """The view to which the layer writes the gradient of one input, and whether the layer adds to it (``adds``: it
        can). If it can neither write nor add in place, it writes to a temporary buffer, which ``after`` then adds."""
        target = self.gradient(feed.part).crop(feed.region, feed.part.region)
        total = self.sum_of(feed.part)
        key = (part.index, i)
        if total.must_zero(key):
            self.out.append(Zero(self.gradient(feed.part)))
        overwrites = total.overwrites(key)
        order = self.forward.order_read(part, target.shape)
        element = self.forward.elements.read(part, feed.k)
        fits = self.memory.contiguous(target, order) and self.memory.buffers[target.buffer].dtype == element
        if fits and (overwrites or adds):
            return target, not overwrites
        aside = self.memory.new(f"{part.name}.dx{feed.k}", extent(feed.region), element, order=order)
        after.append(Copy(target, aside) if overwrites else Accumulate(target, aside))
        return aside, False

    def all_reduce(self, part: Part) -> None:
        """Sum the partial gradients of replicas. The first of a node's shards starts the sums of all of them: another
        worker may hold the shards in another order and wait for the other sum first."""
        if part.index not in self.reduced:
            for p in reversed(self.forward.parts):
                if p.node == part.node and p.members:
                    self.reduced[p.index] = start = self.summed(p)
                    self.out.append(start)
        self.out.append(CollectiveWait(self.reduced[part.index]))

    def summed(self, part: Part) -> CollectiveStart:
        """The start of the sum of the gradients of a part's replicas."""
        workers = tuple(sorted(m.worker for m in part.members))
        return self.forward.exchanges.in_place(
            self.gradient(part), workers, part.worker, self.memory, self.group(part), f"d({part.name})"
        )

    def start(self, take: Part) -> None:
        """Start the backward collective of ``take``; what its Give receives may lie in the gradient of its source."""
        assert take.collective is not None
        first = self.forward.first(take)
        give = self.forward.gives[first]
        found = self.forward.exchanges.of_collective(take.collective, backward=True)
        brought = HeldRegion(self.gradient(take) if take.region else None, take.region)
        wanted = HeldRegion(self.gradient(give) if give.region else None, give.region)
        channel = Channel(self.forward.phase, Way.BACKWARD, self.forward.micro, first)
        name = f"{found.kind} d({take.collective.name})"
        order = self.forward.orders[take.node]
        start = self.forward.exchanges.start(
            found, take.worker, brought, wanted, self.memory, take.collective.dtype, channel, name, order
        )
        self.started[first] = start
        self.out.append(start)

    def group(self, part: Part) -> Channel:
        """The channel of a group of replicas, named by the lowest index among them."""
        first = min(p.index for p in part.members)
        return Channel(self.forward.phase, Way.REDUCE, self.forward.micro, first)

    def send(self, part: Part) -> None:
        assert part.peer is not None
        channel = self.forward.channel(Way.BACKWARD, part)
        self.out.append(Send(self.gradient(part), part.peer.worker, channel, part.name, -self.lag(part)))

    def receive(self, part: Part) -> None:
        assert part.peer is not None
        channel = self.forward.channel(Way.BACKWARD, part.peer)
        self.out.append(Receive(self.gradient(part), part.peer.worker, channel, part.name, self.lag(part)))

    def lag(self, part: Part) -> int:
        """Steps by which this worker computes the gradient of a bridge later than the worker at its other end."""
        assert part.peer is not None
        stages = self.forward.stages
        other = self.forward.stages.of_worker(part.peer.worker)
        return stages.delay(stages.stage_of_part(part)) - stages.delay(stages.holding(part.node, other))
