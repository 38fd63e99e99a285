"""UpdateCompiler: when the sum of a bucket's gradients starts, and what one worker does once they are complete.

backward   dw3 dw2 │ dw1 dw0 │            bucket 0 starts as soon as dw3 and dw2 are complete on this worker
bucket 0           └─────────┼─┐
bucket 1                     └─┼───┐
updates                       w3 w2 w1 w0
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from netpart.graph.graph import Part
from netpart.graph.holdings import Bucket
from netpart.program.buffers import View
from netpart.program.collective_instructions import ExchangeFactory
from netpart.program.gradient_norm import NormCompiler
from netpart.program.instructions import (
    Channel,
    CollectiveStart,
    CollectiveWait,
    Copy,
    Instruction,
    Way,
    Zero,
)
from netpart.program.parameters import Key, ParameterMemory
from netpart.program.schedules.delays import parameter_delays
from netpart.program.server_messages import ServerMessages
from netpart.spec import whole_region


class UpdateCompiler:
    """A compiler of the sums of gradients over workers and the updates of ``parameters``.

    ``group`` is the one in which the worker trains. ``shared`` maps the holdings of which this worker updates only a
    part to their buckets; ``gathers`` are the collectives that bring the other parts.
    """

    def __init__(self, parameters: ParameterMemory, group: int = 0) -> None:
        partition = parameters.partition
        worker = parameters.worker
        memory = parameters.memory
        self.parameters = parameters
        self.buckets = parameters.buckets
        self.holdings = parameters.holdings
        self.exchanges = ExchangeFactory(partition.job, partition.workers)
        sharded = ((n, bucket.cells[0]) for n, bucket in self.buckets if bucket.sharded)
        self.shared = {parameters.holding(cell.parameter.name, cell.box): n for n, cell in sharded}
        self.gathers: list[CollectiveStart] = []
        self.remaining: dict[int, set[Key]] = {}
        self.started: dict[int, CollectiveStart] = {}
        self.served = ServerMessages(partition, worker, group) if partition.servers else None
        self.delays = parameter_delays(partition)
        self.norm: NormCompiler | None = None
        if partition.norm is not None and worker in partition.norm.workers:
            self.norm = NormCompiler(partition.norm, worker, memory, self.exchanges)

    def start(self, phase: int) -> list[Instruction]:
        """Before backward: zeroes gradients without contributions here, and starts buckets that wait for nothing."""
        out: list[Instruction] = [
            Zero(view, delay=self.delay(h))
            for h, view in enumerate(self.parameters.gradients)
            if view is not None and not self.parameters.sums[h].contributions
        ]
        self.remaining = {b: self.parameters.awaited(bucket) for b, bucket in self.buckets}
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
        out += [Copy(place, gradient, delay=delay) for place, gradient in self.parameters.gradient_copies(b)]
        self.started[b] = replace(self.summed(b, phase), delay=delay)
        out.append(self.started[b])

    def summed(self, b: int, phase: int) -> CollectiveStart:
        """The start of a bucket's sum: of all its gradients, or of those that this worker updates if it is sharded."""
        if not self.bucket(b).sharded:
            return self.exchange(b, Channel(phase, Way.BUCKET, 0, b), self.parameters.flat[b], f"bucket {b}")
        cell = self.bucket(b).cells[0]
        gradient = self.parameters.cropped(self.parameters.holding(cell.parameter.name, cell.box), cell.box)
        return self.exchange(b, Channel(phase, Way.BUCKET, 0, b), gradient, f"d({cell.parameter.name})")

    def exchange(self, b: int, channel: Channel, view: View, name: str) -> CollectiveStart:
        """The start that sums the gradients of a bucket in ``view``, or that gathers the values there."""
        bucket = self.bucket(b)
        region = bucket.cells[0].box if bucket.sharded else whole_region(view.shape)
        found = self.exchanges.of_bucket(bucket)[channel.way]
        return self.exchanges.start_in_view(
            found, view, region, self.parameters.worker, self.parameters.memory, channel, name
        )

    def finish(self, phase: int) -> list[Instruction]:
        """After backward: updates every parameter as soon as its gradient is complete, here or on its servers."""
        if self.norm is not None:
            out = self.finish_clipped(self.norm, phase)
        else:
            out = [i for waits, held in self.completed() for i in (*waits, *self.updates(held, phase))]
        pulls = self.served.pulls(self.parameters.values, self.holdings) if self.served else []
        return [*out, *map(CollectiveWait, self.gathers), *pulls]

    def updates(self, held: list[int], phase: int, norm: View | None = None) -> list[Instruction]:
        """The updates of holdings, or the pushes of their gradients to their servers."""
        # Trained ones first: some kernels do consecutive updates at once, and running statistics would separate them.
        held = sorted(held, key=self.is_running_statistic)
        own = [h for h in held if self.served is None or self.is_running_statistic(h)]
        found = [i for h in own for i in self.updated(h, phase, norm)]
        if self.served is not None:
            for h in held:
                made = self.parameters.values if h in own else self.parameters.gradients
                found += self.served.push(self.holdings[h], made[h])
        return found

    def is_running_statistic(self, h: int) -> bool:
        """True for a running statistic."""
        return self.holdings[h].parameter.spec.running is not None

    def updated(self, h: int, phase: int, norm: View | None) -> Iterator[Instruction]:
        """The update of a holding, and the start of the gather if other workers wait for the new values."""
        yield self.parameters.update(h, norm, self.delay(h))
        if h in self.shared:
            b = self.shared[h]
            channel = Channel(phase, Way.VALUES, 0, b)
            self.gathers.append(self.exchange(b, channel, self.parameters.values[h], self.holdings[h].parameter.name))
            yield self.gathers[-1]

    def finish_clipped(self, norm: NormCompiler, phase: int) -> list[Instruction]:
        """Add every gradient to the norm as soon as it is complete; updates follow once all workers know the norm."""
        out: list[Instruction] = [norm.start()]
        updates: list[Instruction] = []
        for waits, held in self.completed():
            counted = [self.parameters.cropped(h, box) for h in held for box in norm.boxes(self.holdings[h])]
            out += [*waits, *map(norm.count, counted)]
            updates += self.updates(held, phase, norm.total)
        pushed = self.served.push_norm(norm.total) if self.served else []
        delay = max(self.delays.values(), default=0)
        return [replace(i, delay=delay) for i in (*out, *norm.agree(phase), *pushed, *updates)]

    def delay(self, h: int) -> int:
        """Steps by which the update of a holding is later than forward."""
        return self.delays.get(self.holdings[h].parameter.name, 0)

    def bucket_delay(self, b: int) -> int:
        """Steps by which the sum of a bucket is later than forward."""
        return max(self.delays.get(cell.parameter.name, 0) for cell in self.bucket(b).cells)

    def completed(self) -> Iterator[tuple[list[Instruction], list[int]]]:
        """Groups of holdings in the order in which their gradients are complete: the instructions that wait for these,
        and the holdings. Those in no bucket come first."""
        last = {self.parameters.holding(c.parameter.name, c.box): b for b, bucket in self.buckets for c in bucket.cells}
        trained = [h for h, gradient in enumerate(self.parameters.gradients) if gradient is not None]
        # The update of a running variance also reads its mean, so it waits for the later bucket of the two.
        complete = {h: max(last.get(h, -1), last.get(self.parameters.mean_holding(h), -1)) for h in trained}
        yield [], [h for h in trained if complete[h] < 0]
        for b, _ in self.buckets:
            delay = self.bucket_delay(b)
            copies = [Copy(gradient, place, delay=delay) for place, gradient in self.parameters.gradient_copies(b)]
            yield [CollectiveWait(self.started[b], delay=delay), *copies], [h for h in trained if complete[h] == b]

    def bucket(self, b: int) -> Bucket:
        return self.parameters.partition.buckets[b]
