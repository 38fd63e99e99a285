"""Parameters of one worker: where values and gradients lie, who adds to them, when their buckets may leave."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from netpart.graph.graph import LAYER, Part
from netpart.graph.holdings import Bucket, Holding
from netpart.graph.net import Net, Node
from netpart.graph.partition import Partition
from netpart.kernels.reference import Kernels
from netpart.program.accumulate import Accumulator
from netpart.program.buffers import FIXED, Order, View
from netpart.program.delays import parameter_delays
from netpart.program.exchanges import Exchanges
from netpart.program.instructions import (
    Add,
    Channel,
    CollectiveStart,
    CollectiveWait,
    Copy,
    Instruction,
    Update,
    Way,
    Zero,
)
from netpart.program.memory import Memory
from netpart.program.norm import NormCompiler
from netpart.program.orders import channels_last
from netpart.program.served import Served
from netpart.spec import FLOAT, Region, contains, extent, size, whole

Key = tuple[int, int, int]
"""(micro-batch, part, slot) of one contribution to a parameter's gradient."""


class ParameterMemory:
    """Buffers of the holdings of one worker. Gradients lie in their bucket where a bucket's cell is the holding.

    ``shared`` are the holdings of which this worker updates a part, by their bucket; ``gathers`` bring the rest.
    """

    def __init__(
        self, memory: Memory, partition: Partition, worker: int, group: int = 0, kernels: type[Kernels] = Kernels
    ) -> None:
        self.memory, self.partition, self.worker = memory, partition, worker
        self.holdings = partition.holdings[worker]
        self.buckets = [(b, bucket) for b, bucket in enumerate(partition.buckets) if worker in bucket.workers]
        self.orders = [self.order(h) if kernels.weights_last else () for h in self.holdings]
        self.values = [
            memory.new(h.parameter.name, extent(h.box), FLOAT, FIXED, order)
            for h, order in zip(self.holdings, self.orders, strict=True)
        ]
        self.flat = {
            b: memory.new(f"bucket {b}", (bucket.elements,), FLOAT, FIXED)
            for b, bucket in self.buckets
            if not bucket.sharded
        }
        self.by_name: dict[str, list[int]] = {}
        for h, holding in enumerate(self.holdings):
            self.by_name.setdefault(holding.parameter.name, []).append(h)
        self.copies: list[tuple[int, View, int, Region]] = []
        self.gradients: list[View | None] = [None] * len(self.holdings)
        self.shared = {self.holding(b.cells[0].parameter.name, b.cells[0].box): n for n, b in self.buckets if b.sharded}
        self.gathers: list[CollectiveStart] = []
        self.place_gradients()
        self.sums: dict[int, Accumulator] = {}
        self.keys: dict[Key, tuple[int, Region]] = {}
        self.remaining: dict[int, set[Key]] = {}
        self.exchanges = Exchanges(partition.job)
        self.started: dict[int, CollectiveStart] = {}
        self.copied: dict[tuple[int, int, Region], View] = {}
        self.served = Served(partition, worker, group) if partition.servers else None
        self.delays = parameter_delays(partition)
        self.norm: NormCompiler | None = None
        if partition.norm is not None and worker in partition.norm.workers:
            self.norm = NormCompiler(partition.norm, worker, memory, self.exchanges)

    def place_gradients(self) -> None:
        """Puts a gradient into its bucket's buffer when it is a cell of it; else beside, copied in and out."""
        for b, bucket in ((b, bucket) for b, bucket in self.buckets if not bucket.sharded):
            offset = 0
            for cell in bucket.cells:
                h = self.holding(cell.parameter.name, cell.box)
                view = self.memory.alias(f"d({cell.parameter.name})", extent(cell.box), self.flat[b], offset)
                offset += size(cell.box)
                if self.holdings[h].box == cell.box:
                    self.gradients[h] = view
                else:
                    self.copies.append((b, view, h, cell.box))
        for h, holding in enumerate(self.holdings):
            if self.gradients[h] is None and holding.parameter.name in self.partition.trained:
                name = f"d({holding.parameter.name})"
                self.gradients[h] = self.memory.new(name, extent(holding.box), FLOAT, FIXED, self.orders[h])

    def order(self, holding: Holding) -> Order:
        """How a holding and its gradient lie in memory: as written where others have a part in them."""
        name, spec = holding.parameter.name, holding.parameter.spec
        alone = not self.partition.servers and all(c.parameter.name != name for _, b in self.buckets for c in b.cells)
        return channels_last(len(spec.shape)) if spec.channels_last and alone else ()

    def holding(self, name: str, box: Region) -> int:
        """Index of the holding that contains ``box`` of a parameter."""
        return next(h for h in self.by_name[name] if contains(self.holdings[h].box, box))

    def views(
        self, node: Node, boxes: tuple[Region | None, ...], phase: int, out: list[Instruction]
    ) -> list[View | None]:
        """Where the parameters that a part needs lie; emits the copies that pack what is no run of memory."""
        found: list[View | None] = []
        for parameter, box in zip(node.params, boxes, strict=True):
            found.append(None if box is None else self.packed(self.holding(parameter.name, box), box, phase, out))
        return found

    def packed(self, h: int, box: Region, phase: int, out: list[Instruction]) -> View:
        """``box`` of a holding as one run of memory: itself, or a copy that all micro-batches of a step share."""
        view = self.values[h].crop(box, self.holdings[h].box)
        if self.memory.contiguous(view, self.orders[h]):
            return view
        copy = self.copied.get((phase, h, box))
        if copy is None:
            copy = self.copied[phase, h, box] = self.memory.new(
                self.holdings[h].parameter.name, view.shape, order=self.orders[h]
            )
            out.append(Copy(copy, view))
        return copy

    def expect(self, passes: Iterable[tuple[int, Net, list[Part]]]) -> None:
        """Lists every contribution to every gradient in the order in which backward makes them.

        ``passes`` are backward passes in order: micro-batch, net and the parts of the stage.
        """
        order: dict[int, list[tuple[Key, Region]]] = {}
        for micro, net, parts in passes:
            for part in reversed(parts):
                for slot, box in self.trained(net.nodes[part.node], part):
                    h = self.holding(net.nodes[part.node].params[slot].name, box)
                    order.setdefault(h, []).append(((micro, part.index, slot), box))
        for h, holding in enumerate(self.holdings):
            if self.gradients[h] is None:
                continue
            self.sums[h] = Accumulator(holding.box, order.get(h, []))
            self.keys.update({key: (h, box) for key, box in order.get(h, [])})
        for b, bucket in self.buckets:
            held = {self.holding(c.parameter.name, c.box) for c in bucket.cells}
            self.remaining[b] = {key for key, (h, _) in self.keys.items() if h in held}

    def trained(self, node: Node, part: Part) -> Iterator[tuple[int, Region]]:
        """The parameters, by slot, to whose gradient a part adds, and where."""
        if part.kind == LAYER and any(part.trains):
            boxes = node.layer.needs(part.region, part.term).params
            yield from ((slot, box) for slot, box in enumerate(boxes) if part.trains[slot] and box is not None)

    def gradient_targets(
        self, micro: int, part: Part, node: Node, before: list[Instruction]
    ) -> tuple[list[View | None], list[Instruction]]:
        """Where a part writes its parameters' gradients, and what adds them up afterwards."""
        targets: list[View | None] = [None] * len(node.params)
        after: list[Instruction] = []
        for slot in range(len(node.params)):
            key = (micro, part.index, slot)
            if key not in self.keys:
                continue
            h, box = self.keys[key]
            whole = self.gradients[h]
            assert whole is not None
            target, total = whole.crop(box, self.holdings[h].box), self.sums[h]
            if total.must_zero(key):
                before.append(Zero(whole))
            if total.overwrites(key) and self.memory.contiguous(target, self.orders[h]):
                targets[slot] = target
                continue
            targets[slot] = aside = self.memory.new(f"{part.name}.dw{slot}", extent(box), order=self.orders[h])
            after.append(Copy(target, aside) if total.overwrites(key) else Add(target, aside))
        return targets, after

    def start(self, phase: int) -> list[Instruction]:
        """Before backward: zeroes gradients that nobody here adds to, and starts buckets that wait for nothing."""
        out: list[Instruction] = [
            Zero(view, delay=self.delay(h))
            for h, view in enumerate(self.gradients)
            if view is not None and not self.sums[h].contributions
        ]
        for b, _ in self.buckets:
            self.leave_if_ready(b, phase, out)
        return out

    def complete(self, micro: int, part: Part, phase: int, out: list[Instruction]) -> None:
        """After a part's backward: starts the buckets whose last contribution it made."""
        made = {(micro, part.index, slot) for slot in range(len(part.trains))}
        for b, waiting in self.remaining.items():
            if waiting & made:
                waiting -= made
                self.leave_if_ready(b, phase, out)

    def leave_if_ready(self, b: int, phase: int, out: list[Instruction]) -> None:
        if self.remaining[b] or b in self.started:
            return
        delay = self.bucket_delay(b)
        out += [Copy(cell, self.cropped(h, box), delay=delay) for c, cell, h, box in self.copies if c == b]
        self.started[b] = replace(self.summed(b, phase), delay=delay)
        out.append(self.started[b])

    def summed(self, b: int, phase: int) -> CollectiveStart:
        """Sums the gradients of a bucket: all of them here, or those at home here."""
        if not self.bucket(b).sharded:
            return self.exchange(b, Channel(phase, Way.BUCKET, 0, b), self.flat[b], f"bucket {b}")
        cell = self.bucket(b).cells[0]
        gradient = self.cropped(self.holding(cell.parameter.name, cell.box), cell.box)
        return self.exchange(b, Channel(phase, Way.BUCKET, 0, b), gradient, f"d({cell.parameter.name})")

    def exchange(self, b: int, channel: Channel, view: View, name: str) -> CollectiveStart:
        """Sums the gradients of a bucket in ``view``, or completes the values there."""
        bucket = self.bucket(b)
        region = bucket.cells[0].box if bucket.sharded else whole(view.shape)
        found = self.exchanges.of_bucket(bucket)[channel.way]
        return self.exchanges.within(found, view, region, self.worker, self.memory, channel, name)

    def finish(self, phase: int) -> list[Instruction]:
        """After backward: updates every parameter as soon as its gradient is complete, or has servers do it."""
        if self.norm is not None:
            out = self.finish_clipped(self.norm, phase)
        else:
            out = [i for waits, held in self.completed() for i in (*waits, *self.updates(held, phase))]
        pulls = self.served.pulls(self.values, self.holdings) if self.served else []
        return [*out, *map(CollectiveWait, self.gathers), *pulls]

    def updates(self, held: list[int], phase: int, norm: View | None = None) -> list[Instruction]:
        """Updates holdings, or pushes their gradients to their servers: what is trained first, so that kernels that do
        updates which follow each other at once do most at once."""
        held = sorted(held, key=self.follows)
        own = [h for h in held if self.served is None or self.follows(h)]
        found = [i for h in own for i in self.updated(h, phase, norm)]
        if self.served is not None:
            for h in held:
                found += self.served.push(self.holdings[h], self.values[h] if h in own else self.gradients[h])
        return found

    def follows(self, h: int) -> bool:
        """True for a running statistic."""
        return self.holdings[h].parameter.spec.running is not None

    def updated(self, h: int, phase: int, norm: View | None) -> Iterator[Instruction]:
        """Updates a holding, and lets the new values leave where others wait for them."""
        yield Update(h, norm, delay=self.delay(h))
        if h in self.shared:
            b = self.shared[h]
            channel = Channel(phase, Way.VALUES, 0, b)
            self.gathers.append(self.exchange(b, channel, self.values[h], self.holdings[h].parameter.name))
            yield self.gathers[-1]

    def finish_clipped(self, norm: NormCompiler, phase: int) -> list[Instruction]:
        """Counts every gradient as soon as it is complete; the updates come once all workers know the norm."""
        out: list[Instruction] = [norm.start()]
        updates: list[Instruction] = []
        for waits, held in self.completed():
            counted = [self.cropped(h, box) for h in held for box in norm.boxes(self.holdings[h])]
            out += [*waits, *map(norm.count, counted)]
            updates += self.updates(held, phase, norm.total)
        pushed = self.served.push_norm(norm.total) if self.served else []
        delay = max(self.delays.values(), default=0)
        return [replace(i, delay=delay) for i in (*out, *norm.agree(phase), *pushed, *updates)]

    def delay(self, h: int) -> int:
        """Steps by which the update of a holding is behind forward."""
        return self.delays.get(self.holdings[h].parameter.name, 0)

    def bucket_delay(self, b: int) -> int:
        """The same of what a bucket brings."""
        return max(self.delays.get(cell.parameter.name, 0) for cell in self.bucket(b).cells)

    def completed(self) -> Iterator[tuple[list[Instruction], list[int]]]:
        """Holdings by when their gradient is complete, and what to wait for before: first those in no bucket."""
        last = {self.holding(c.parameter.name, c.box): b for b, bucket in self.buckets for c in bucket.cells}
        trained = [h for h, gradient in enumerate(self.gradients) if gradient is not None]
        complete = {h: max(last.get(h, -1), last.get(self.centre(h), -1)) for h in trained}
        yield [], [h for h in trained if complete[h] < 0]
        for b, _ in self.buckets:
            delay = self.bucket_delay(b)
            copies = [Copy(self.cropped(h, box), cell, delay=delay) for c, cell, h, box in self.copies if c == b]
            yield [CollectiveWait(self.started[b], delay=delay), *copies], [h for h in trained if complete[h] == b]

    def centre(self, h: int) -> int:
        """The holding that the update of another reads as well: the mean of a running variance, else itself."""
        running, box = self.holdings[h].parameter.spec.running, self.holdings[h].box
        return self.holding(running.mean, box) if running and running.mean else h

    def read_by_updates(self) -> list[list[View]]:
        """The views that the update of each holding reads."""
        of = [(self.values[h], self.gradients[h], self.gradients[self.centre(h)]) for h in range(len(self.holdings))]
        return [[view for view in views if view is not None] for views in of]

    def cropped(self, h: int, box: Region) -> View:
        gradient = self.gradients[h]
        assert gradient is not None
        return gradient.crop(box, self.holdings[h].box)

    def bucket(self, b: int) -> Bucket:
        return self.partition.buckets[b]
