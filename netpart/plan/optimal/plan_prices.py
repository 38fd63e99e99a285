"""Plan prices: what a plan costs by ``predict_step``, and what each output of its layers really costs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from netpart.graph.build import build_net
from netpart.graph.graph import Graph
from netpart.graph.net import Net
from netpart.graph.partition import Partition, partition_job
from netpart.graph.passes.update_sharding import sharding_threshold
from netpart.plan.optimal.chosen_scheme import scheme_from_choices
from netpart.plan.optimal.cut_choices import CutChoice
from netpart.plan.optimal.layer_tables import WorkerGroup
from netpart.plan.optimal.link_prices import LinkPrices
from netpart.plan.optimal.plan_space import PlanSpace, build_plan_space
from netpart.plan.optimal.price_setting import PriceSetting
from netpart.plan.price.devices import Devices
from netpart.plan.price.ledger import LedgerFlow, compute_ledger
from netpart.plan.price.predict import predict_step
from netpart.plan.price.transfers import flow_arrivals
from netpart.program.instructions import Way
from netpart.program.kernel_choice import job_kernel_class
from netpart.proto.element import float_size
from netpart.proto.job_pb2 import Collectives, JobProto
from netpart.updaters import build_updater

OutputKey = tuple[int, int]
"""(node of the uncut net, its output)."""


@dataclass(frozen=True)
class PricedJob:
    """A job to plan for ``devices``. ``rates`` as in ``predict_step``; ``passes`` as in ``PriceSetting``. A layer is
    computed by the workers that ``groups`` has for it, by any if it has none."""

    job: JobProto
    folder: Path | None
    devices: Devices
    rates: Mapping[str, float]
    groups: Mapping[str, WorkerGroup] = field(default_factory=dict)
    passes: int = 1

    def space(self) -> PlanSpace:
        """All plans for a micro-batch."""
        net, everyone = self.net(), tuple(range(len(self.devices)))
        return build_plan_space(net, self.setting(), [self.groups.get(node.name, everyone) for node in net.nodes])

    def net(self) -> Net:
        """The training net of a micro-batch."""
        whole = build_net(self.job, "train", self.folder)
        count = max(1, self.job.neuralnet.micro_batches)
        return whole if count == 1 else build_net(self.job, "train", self.folder, rows=-(-whole.rows // count))

    def setting(self) -> PriceSetting:
        """What the tables depend on."""
        wanted = Collectives.Algorithm.Name(self.job.collectives).lower()
        return PriceSetting(
            self.devices, LinkPrices(self.devices, wanted), self.rates, float_size(self.job),
            len(build_updater(self.job.updater).states), sharding_threshold(self.job),
            self.job.neuralnet.recompute, job_kernel_class(self.job), self.passes,
        )  # fmt: skip

    def partition(self, choices: Mapping[str, CutChoice]) -> Partition:
        """The training net cut by ``choices``."""
        scheme = scheme_from_choices(choices)
        workers = len(self.devices)
        return partition_job(self.job, workers, self.folder, ("train",), placer=lambda net: scheme(net, workers))

    def predicted_seconds(self, partition: Partition) -> float:
        """The seconds of a step by ``predict_step``."""
        return predict_step(partition, self.devices, self.rates).seconds


def output_transfers(partition: Partition, net: Net, devices: Devices) -> dict[OutputKey, tuple[float, float]]:
    """Seconds of the transfers of each output of ``net``, forward and backward, as ``partition`` has them."""
    graph = partition.phases["train"][0].graph
    origin = list(_original_nodes(graph, net))
    found: dict[OutputKey, tuple[list[LedgerFlow], list[LedgerFlow]]] = defaultdict(lambda: ([], []))
    for entry in compute_ledger(partition).flows:
        if entry.channel.micro == 0 and entry.channel.way in (Way.FORWARD, Way.BACKWARD, Way.REDUCE):
            part = graph.parts[entry.channel.edge]
            node = origin[part.node]
            if node is not None:
                back = entry.channel.way != Way.FORWARD
                output = 0 if graph.net.nodes[part.node].inserted else part.output
                found[node, output][back].append(entry)
    return {key: (max(flow_arrivals(f, devices)), max(flow_arrivals(b, devices))) for key, (f, b) in found.items()}


def _original_nodes(graph: Graph, net: Net) -> Iterator[int | None]:
    """Per node of ``graph``, the node of ``net`` whose output it holds; None for inner layers of expansions."""
    last = None
    for node in graph.net.nodes:
        own = net.by_name.get(node.name)
        if own is not None:
            last = own.index
        # A total comes right after the layer whose addends it sums, and reads it; an inner layer is read by the next.
        total = own is None and bool(node.sources) and graph.net.nodes[node.sources[0].node].at == node.at
        yield own.index if own is not None else last if total else None
