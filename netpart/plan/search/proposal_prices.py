"""Priced proposals: jobs that are cut, with the predicted seconds of their steps and the memory of their workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from netpart.errors import ConfigError
from netpart.graph.partition import Partition
from netpart.graph.recomputed import layers_recomputed
from netpart.plan.partition import partition_by_callable
from netpart.plan.price.devices import Devices
from netpart.plan.price.part_prices import PartPrices
from netpart.plan.price.predict import predict_memory, predict_step
from netpart.plan.price.recompute_choice import RecomputeChoice
from netpart.plan.schemes.placing import Scheme
from netpart.plan.search.planned_job import with_micro_batches
from netpart.plan.search.proposal import PlacementKey, Proposal, ProposalRow, placement_key
from netpart.proto.reader import Job
from netpart.units import bytes_text


class ProposalPrices:
    """The prices of proposals for ``job`` on ``devices``, at ``prices``. ``bound``: the least seconds of a step, with
    perfect balance and without messages. ``room``: bytes above which the memory of more workers is not asked."""

    def __init__(self, job: Job, devices: Devices, prices: PartPrices, bound: float, room: float) -> None:
        self.job = job
        self.devices = devices
        self.prices = prices
        self.bound = bound
        self.room = room
        self.needs: dict[PlacementKey, tuple[int, ...]] = {}
        self.recomputing = RecomputeChoice(devices, prices)

    def laid_out(self, name: str, scheme: Scheme, micro_batches: int) -> Proposal:
        """Cut the job by ``scheme`` with this number of micro-batches."""
        job = with_micro_batches(self.job, micro_batches, self.job.proto.neuralnet.recompute)
        cut = partial(partition_by_callable, scheme, job.proto, len(self.devices), job.folder, compact=True)
        return self.price_cut(name, job, cut)

    def price_cut(self, name: str, job: Job, cut: Callable[[], Partition]) -> Proposal:
        """The predicted time of a job that ``cut`` partitions; refused if it cannot be cut."""
        try:
            found = cut()
        except ConfigError as error:
            return Proposal(ProposalRow(name, refused=str(job.explain(error))), job)
        predicted = predict_step(found, self.devices, prices=self.prices)
        gap = predicted.seconds / self.bound - 1
        micro_batches = len(found.phases["train"])
        recompute = any(layers_recomputed(found.job.neuralnet))
        workers = tuple(sorted({worker for placement in found.graph.placements for worker in placement.workers}))
        row = ProposalRow(name, micro_batches, recompute, predicted.seconds, gap, predicted.moved, workers=workers)
        return Proposal(row, job, found)

    def fitted(self, proposal: Proposal) -> Proposal:
        """The proposal with its memory; refused if a device has less."""
        if proposal.partition is None:
            return proposal
        needed = self.needed(proposal.partition)
        refused = next(self.too_much(needed), "")
        return replace(proposal, row=replace(proposal.row, memory=needed, refused=refused))

    def with_recomputation(self, proposal: Proposal) -> Proposal | None:
        """``proposal`` with as few recomputed layers as let it fit; None if it does not fit with all of them."""
        if proposal.partition is None:
            return None
        found = self.recomputing.recompute_least(proposal.partition)
        if found is None:
            return None
        job = replace(proposal.job, proto=found.job)
        return self.fitted(self.price_cut(proposal.row.name, job, lambda: found))

    def too_much(self, needed: Sequence[int]) -> Iterator[str]:
        """A message for each worker that needs more memory than its device has."""
        # Not strict: of equal devices, those after the first without room need not be asked.
        for worker, (need, device) in enumerate(zip(needed, self.devices.devices, strict=False)):
            if need > device.memory:
                yield f"needs {bytes_text(need)} on worker {worker}, which has {bytes_text(device.memory)}"

    def needed(self, found: Partition) -> tuple[int, ...]:
        """Bytes of each worker; cached, as several planners may propose the same placement. With floors, and devices of
        equal room, workers after the first that needs more are omitted."""
        key = placement_key(found)
        if key not in self.needs:
            self.needs[key] = predict_memory(found, self.room)
        return self.needs[key]
