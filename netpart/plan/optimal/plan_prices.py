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
from netpart.graph.passes.totals import is_total
from netpart.graph.passes.update_sharding import sharding_threshold
from netpart.plan.optimal.chosen_scheme import scheme_from_choices
from netpart.plan.optimal.cut_choices import CutChoice
from netpart.plan.optimal.layer_tables import LayerTables, WorkerGroup
from netpart.plan.optimal.link_prices import LinkPrices
from netpart.plan.optimal.plan_space import PlanSpace, build_plan_space
from netpart.plan.optimal.price_setting import PriceSetting
from netpart.plan.optimal.transfer_prices import TransferPricer
from netpart.plan.price.devices import Devices
from netpart.plan.price.ledger import LedgerFlow, compute_ledger
from netpart.plan.price.predict import predict_step
from netpart.plan.price.recompute_choice import RecomputeChoice
from netpart.plan.price.transfers import flow_arrivals
from netpart.program.collective_instructions import ExchangeFactory
from netpart.program.instructions import Way
from netpart.program.kernel_choice import job_kernel_class
from netpart.proto.element import float_size
from netpart.proto.job_pb2 import Collectives, JobProto
from netpart.updaters import build_updater

OutputKey = tuple[int, int]
"""(node of the uncut net, its output)."""


@dataclass(frozen=True)
class PricedJob:
    """A job to plan for ``devices``. ``rates`` as in ``predict_step``; ``passes`` and ``recomputes`` as in
    ``PriceSetting``. A layer is computed by the workers that ``groups`` has for it, by any if it has none.
    ``recomputing`` chooses what is recomputed, if others ask for the same plans."""

    job: JobProto
    folder: Path | None
    devices: Devices
    rates: Mapping[str, float]
    groups: Mapping[str, WorkerGroup] = field(default_factory=dict)
    passes: int = 1
    recomputes: bool = False
    recomputing: RecomputeChoice | None = None

    def loose_space(self) -> PlanSpace:
        """All plans for a micro-batch, with bounds of the transfers to each reader by itself."""
        return build_plan_space(self.layer_tables(), joint=False, exact=False)

    def layer_tables(self) -> LayerTables:
        """The layers of a micro-batch with their choices."""
        net, everyone = self.net(), tuple(range(len(self.devices)))
        return LayerTables(net, self.setting(), [self.groups.get(node.name, everyone) for node in net.nodes])

    def net(self) -> Net:
        """The training net of a micro-batch."""
        whole = build_net(self.job, "train", self.folder)
        count = max(1, self.job.neuralnet.micro_batches)
        return whole if count == 1 else build_net(self.job, "train", self.folder, rows=-(-whole.rows // count))

    def setting(self) -> PriceSetting:
        """What the tables depend on."""
        wanted = Collectives.Algorithm.Name(self.job.collectives).lower()
        links = LinkPrices(self.devices, wanted)
        return PriceSetting(
            self.devices, links, self.rates,
            TransferPricer(self.devices, ExchangeFactory(self.job, len(self.devices)), links), float_size(self.job),
            len(build_updater(self.job.updater).states), sharding_threshold(self.job),
            self.job.neuralnet.recompute, job_kernel_class(self.job), self.passes, self.recomputes,
        )  # fmt: skip

    def partition(self, choices: Mapping[str, CutChoice]) -> Partition:
        """The training net cut by ``choices``."""
        scheme = scheme_from_choices(choices)
        workers = len(self.devices)
        return partition_job(
            self.job, workers, self.folder, ("train",), placer=lambda net: scheme(net, workers), compact=True
        )

    def predicted_seconds(self, partition: Partition) -> float:
        """The seconds of a step by ``predict_step``."""
        return predict_step(partition, self.devices, self.rates).seconds


def output_transfers(partition: Partition, net: Net, devices: Devices) -> dict[OutputKey, tuple[float, float]]:
    """Seconds of the transfers of each output of ``net``, forward and backward, as ``partition`` has them. What goes
    through a total is first brought there and then to the readers."""
    graph = partition.phases["train"][0].graph
    origin = list(_original_nodes(graph, net))
    flows: dict[OutputKey, tuple[list[LedgerFlow], list[LedgerFlow]]] = defaultdict(lambda: ([], []))
    for entry in compute_ledger(partition).flows:
        if entry.channel.micro == 0 and entry.channel.way in (Way.FORWARD, Way.BACKWARD, Way.REDUCE):
            part = graph.part_at(entry.channel.edge)
            flows[part.node, part.output][entry.channel.way != Way.FORWARD].append(entry)
    found: dict[OutputKey, tuple[float, float]] = defaultdict(lambda: (0.0, 0.0))
    for (number, output), ways in flows.items():
        node = origin[number]
        if node is not None:
            key = node, 0 if is_total(graph.net.nodes[number]) else output
            ahead, back = (max(flow_arrivals(each, devices)) for each in ways)
            found[key] = found[key][0] + ahead, found[key][1] + back
    return found


def _original_nodes(graph: Graph, net: Net) -> Iterator[int | None]:
    """Per node of ``graph``, the node of ``net`` whose output it holds; None for inner layers of expansions, and for
    their totals."""
    found: list[int | None] = []
    for node in graph.net.nodes:
        own = net.by_name.get(node.name)
        total = own is None and is_total(node)
        found.append(own.index if own is not None else found[node.sources[0].node] if total else None)
        yield found[-1]
