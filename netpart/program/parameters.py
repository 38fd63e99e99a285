"""ParameterMemory: where the values and gradients of one worker's parameters lie, and which parts add to them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from netpart.graph.graph import LAYER, Part
from netpart.graph.holdings import Bucket, Holding
from netpart.graph.net import Net, Node
from netpart.graph.partition import Partition
from netpart.kernels.reference import Kernels
from netpart.program.accumulate import Accumulator
from netpart.program.buffer_table import BufferTable
from netpart.program.buffers import ARENA, FIXED, Order, View
from netpart.program.instructions import Accumulate, Copy, Instruction, Update, Zero
from netpart.program.memory_orders import channels_last_order, rounded_order
from netpart.spec import BFLOAT16, FLOAT, Region, contains, extent, size

Key = tuple[int, int, int]
"""(micro-batch, part, slot) of one contribution to a parameter's gradient."""


class ParameterMemory:
    """Buffers of the holdings of one worker. A gradient lies in its bucket's buffer if a cell of the bucket is all of
    the holding; ``copies`` lists the other cells: bucket, view in the bucket, holding and box.
    """

    def __init__(
        self, memory: BufferTable, partition: Partition, worker: int, kernels: type[Kernels] = Kernels
    ) -> None:
        self.memory = memory
        self.partition = partition
        self.worker = worker
        self.holdings = partition.holdings[worker]
        self.buckets = [(b, partition.buckets[b]) for b in partition.bucket_numbers(worker)]
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
        self.place_gradients()
        self.sums: dict[int, Accumulator] = {}
        self.keys: dict[Key, tuple[int, Region]] = {}
        self.copied: dict[tuple[int, View, str], View] = {}

    def place_gradients(self) -> None:
        """Put a gradient into its bucket's buffer if it is one of its cells; else it is copied in and out.

        What is exchanged has memory of its own, as peers read and write it in place. Other gradients are in the arena:
        they need memory only until their update.
        """
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
        sharded = (bucket.cells[0] for _, bucket in self.buckets if bucket.sharded)
        exchanged = {self.holding(cell.parameter.name, cell.box) for cell in sharded}
        for h, holding in enumerate(self.holdings):
            if self.gradients[h] is None and holding.parameter.name in self.partition.trained:
                name = f"d({holding.parameter.name})"
                kind = FIXED if h in exchanged else ARENA
                self.gradients[h] = self.memory.new(name, extent(holding.box), FLOAT, kind, self.orders[h])

    def order(self, holding: Holding) -> Order:
        """The memory order of a holding and its gradient: row-major if they are exchanged with other processes."""
        name = holding.parameter.name
        spec = holding.parameter.spec
        alone = not self.partition.servers and all(c.parameter.name != name for _, b in self.buckets for c in b.cells)
        return channels_last_order(len(spec.shape)) if spec.channels_last and alone else ()

    def holding(self, name: str, box: Region) -> int:
        """Index of the holding that contains ``box`` of a parameter."""
        return next(h for h in self.by_name[name] if contains(self.holdings[h].box, box))

    def views(
        self, node: Node, boxes: tuple[Region | None, ...], phase: int, out: list[Instruction],
        factors: tuple[str, ...] = (FLOAT,),
    ) -> list[View | None]:  # fmt: skip
        """The views of the parameters that a part needs; appends to ``out`` the copies of those not contiguous.

        Factors of products are converted to each of the elements ``factors`` in turn: (BFLOAT16, FLOAT) rounds them.
        """
        found: list[View | None] = []
        for parameter, spec, box in zip(node.params, node.layer.params, boxes, strict=True):
            view = None if box is None else self.held(parameter.name, box)
            for element in factors if spec.factor else (FLOAT,):
                view = view and self.packed(view, parameter.name, element, phase, out)
            found.append(view)
        return found

    def held(self, name: str, box: Region) -> View:
        """The view of ``box`` of a parameter."""
        h = self.holding(name, box)
        return self.values[h].crop(box, self.holdings[h].box)

    def packed(self, view: View, name: str, element: str, phase: int, out: list[Instruction]) -> View:
        """``view`` as one run of memory of ``element``: itself, or a copy that all micro-batches share."""
        buffer = self.memory.buffers[view.buffer]
        if buffer.dtype == element and self.memory.contiguous(view, buffer.order):
            return view
        copy = self.copied.get((phase, view, element))
        if copy is None:  # values change only after the last micro-batch, so one copy per step is enough
            h = self.by_name[name][0]
            order = rounded_order(self.holdings[h].parameter.spec) if element == BFLOAT16 else self.orders[h]
            copy = self.copied[phase, view, element] = self.memory.new(name, view.shape, element, order=order)
            out.append(Copy(copy, view))
        return copy

    def expect(self, passes: Iterable[tuple[int, Net, list[Part]]]) -> None:
        """List every contribution to every gradient in the order in which backward makes them.

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

    def awaited(self, bucket: Bucket) -> set[Key]:
        """The contributions to the gradients that a bucket sums."""
        held = {self.holding(c.parameter.name, c.box) for c in bucket.cells}
        return {key for key, (h, _) in self.keys.items() if h in held}

    def gradient_copies(self, b: int) -> list[tuple[View, View]]:
        """Pairs of a view in bucket ``b`` and the gradient for it that lies elsewhere."""
        return [(place, self.cropped(h, box)) for of, place, h, box in self.copies if of == b]

    def trained(self, node: Node, part: Part) -> Iterator[tuple[int, Region]]:
        """The parameters, by slot, to whose gradients a part contributes, and the boxes."""
        if part.kind == LAYER and any(part.trains):
            boxes = node.layer.needs(part.region, part.term).params
            yield from ((slot, box) for slot, box in enumerate(boxes) if part.trains[slot] and box is not None)

    def gradient_targets(
        self, micro: int, part: Part, node: Node, before: list[Instruction]
    ) -> tuple[list[View | None], list[Instruction]]:
        """The views to which a part writes its parameters' gradients, and the instructions that add them afterwards.

        ``before`` gets the instructions that must precede the part: zeroing.
        """
        targets: list[View | None] = [None] * len(node.params)
        after: list[Instruction] = []
        for slot in range(len(node.params)):
            key = (micro, part.index, slot)
            if key not in self.keys:
                continue
            h, box = self.keys[key]
            whole = self.gradients[h]
            assert whole is not None
            target = whole.crop(box, self.holdings[h].box)
            total = self.sums[h]
            if total.must_zero(key):
                before.append(Zero(whole))
            if total.overwrites(key) and self.memory.contiguous(target, self.orders[h]):
                targets[slot] = target
                continue
            targets[slot] = aside = self.memory.new(f"{part.name}.dw{slot}", extent(box), order=self.orders[h])
            after.append(Copy(target, aside) if total.overwrites(key) else Accumulate(target, aside))
        return targets, after

    def mean_holding(self, h: int) -> int:
        """The holding that the update of ``h`` reads as well: the mean if ``h`` is a running variance, else ``h``."""
        running = self.holdings[h].parameter.spec.running
        box = self.holdings[h].box
        return self.holding(running.mean, box) if running and running.mean else h

    def update(self, h: int, norm: View | None, delay: int) -> Update:
        """The update of a holding; ``norm`` as in Update."""
        holding = self.holdings[h]
        read = dict.fromkeys((h, self.mean_holding(h)))
        gradients = tuple(self.cropped(each, holding.home) for each in read)
        return Update(h, self.values[h].crop(holding.home, holding.box), gradients, norm, delay=delay)

    def cropped(self, h: int, box: Region) -> View:
        gradient = self.gradients[h]
        assert gradient is not None
        return gradient.crop(box, self.holdings[h].box)
