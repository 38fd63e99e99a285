"""Files that contenders need to train a net: the job for netpart, net.json and start.safetensors for the peers."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from google.protobuf import text_format
from safetensors.numpy import save_file

from benchmarks.nets import BATCHES, Net, job
from benchmarks.translate import describe, rows, weights
from netpart.graph.build import build_net
from netpart.graph.graph import LAYER
from netpart.kernels.reference import Kernels
from netpart.plan.partition import partition_by_scheme
from netpart.plan.price.cost import held_bytes, parameter_elements, part_cost, partition_itemsize
from netpart.proto.job_pb2 import JobProto
from netpart.updaters import build_updater

START = "start.safetensors"
"""The file of first values and mini-batches."""
WARM_UP = 3
"""First steps of every run, which are not counted."""
FEWEST, MOST = 5, 200
"""The least and the largest number of counted steps of a run."""
FLOPS = 5e10
"""Rough FLOPs of a core in a second, from which the number of steps of a run is estimated."""


@dataclass(frozen=True)
class Prepared:
    """A net whose files are in ``folder``. ``flops`` are those of a step. ``moved`` are the bytes that it moves if
    values, gradients, parameters and the state of their updater are each written once and read once.

    ``dropout``: it draws random numbers, which peers draw differently. ``normalised``: rows are normalised together, by
    peers only among those of one process.
    """

    net: Net
    folder: Path
    flops: int
    moved: int
    dropout: bool
    normalised: bool

    @property
    def job(self) -> Path:
        """The job's file."""
        return self.folder / "job.conf"

    def steps(self, seconds: float, threads: int) -> int:
        """Steps that take about ``seconds`` with so many threads, including those that are not counted."""
        return WARM_UP + max(FEWEST, min(MOST, int(seconds * FLOPS * threads / self.flops)))

    def write_job(self, steps: int) -> None:
        """Write the job of a run of so many steps."""
        proto = job(self.net, steps)
        proto.checkpoint_path.append(str(self.folder / START))
        self.job.write_text(text_format.MessageToString(proto), encoding="utf-8")


def prepare(net: Net, folder: Path, dropout: bool = True, kernels: type[Kernels] = Kernels) -> Prepared:
    """Write the files of ``net`` into its own folder below ``folder``."""
    own = folder / net.name
    own.mkdir(parents=True, exist_ok=True)
    proto = job(net, 1, dropout)
    built = build_net(proto, "train", own)
    (source,) = (node.name for node in built.nodes if node.layer.is_input)
    described = describe(proto, built)
    described["batches"] = [[f"{source}.{output}.{batch}" for output in (0, 1)] for batch in range(BATCHES)]
    (own / "net.json").write_text(json.dumps(described), encoding="utf-8")
    save_file(weights(built, proto.seed) | rows(built, proto.seed), own / START)
    ops = {layer["op"] for layer in described["layers"]}
    found = Prepared(net, own, *costs(proto, own, kernels), "kDropout" in ops, "kBM" in ops)
    found.write_job(1)
    return found


def costs(proto: JobProto, folder: Path, kernels: type[Kernels] = Kernels) -> tuple[int, int]:
    """FLOPs of a training step, by the table of netpart.kernels.flops, and bytes that it moves with ``kernels``."""
    cut = partition_by_scheme(proto, 1, folder, phases=("train",))
    graph, slots = cut.graph, len(build_updater(proto.updater).states)
    priced = [part_cost(graph, part) for part in graph.parts if part.kind == LAYER]
    held = sum(held_bytes(graph, part, partition_itemsize(cut), kernels) for part in graph.parts)
    elements = sum(parameter_elements(cut, holding, slots) for holding in cut.holdings[0])
    return sum(cost.forward + cost.backward for cost in priced), 2 * (held + elements * partition_itemsize(cut))
