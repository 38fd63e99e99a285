"""The row `optimal` compared with all other rows and with plans written by hand: ten nets, 2 and 8 workers, three kinds
of devices.

    python -m benchmarks.optimal                      all of it: a table, and out/optimal.json
    python -m benchmarks.optimal --nets gpt2,unet2d --workers 8 --devices fast --limit 20

Devices: one host of fast links, as V100s with NVLink; two hosts on Ethernet, each with half of the workers; two speeds,
each of half of the workers. Seconds are those of ``predict_step``; ``search`` those that the row took. The plans by
hand are Megatron's cut of GPT-2, as pages 3 to 5 of its paper have it, and cuts on the rows of images, in
../shared/plans or with --plans; those of the zoo are its mixed jobs.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

from netpart.errors import NetpartError
from netpart.graph.build import build_net
from netpart.plan.partition import partition_by_callable, partition_by_scheme
from netpart.plan.price.devices import Devices, devices_of_cluster
from netpart.plan.price.layer_loads import profile_net
from netpart.plan.price.predict import predict_step
from netpart.plan.schemes.placing import Scheme, cut_on_axis, replicate_layer
from netpart.plan.search.planners import OPTIMAL
from netpart.plan.search.portfolio import Portfolio
from netpart.plan.search.proposal import ProposalRow
from netpart.plan.search.task import PlanningTask
from netpart.proto.element import float_size
from netpart.proto.job_pb2 import ClusterProto
from netpart.proto.reader import Job, read_job, read_job_text
from netpart.resources import zoo_folder

NETS = {
    "lenet": "mnist/conv", "cifar10": "alexnet/alexnet-small", "alexnet": "alexnet/alexnet", "vgg16": "vgg/vgg16",
    "resnet18": "resnet/resnet18", "resnet50": "resnet/resnet50", "unet2d": "unet/unet2d", "unet3d": "unet/unet3d",
    "gpt2": "gpt/gpt2", "vit": "vit/vit-b16",
}  # fmt: skip
DEVICES = {
    "fast": """device {{ name: "v100" count: {all} flops: 10e12 memory: 16e9 }}
               link {{ latency: 5e-6 overhead: 2e-6 bandwidth: 100e9 }}""",
    "hosts": """device {{ name: "gpu" count: {all} flops: 10e12 memory: 16e9 }}
                link {{ latency: 5e-6 overhead: 2e-6 bandwidth: 50e9 }}
                host {{ count: 2 workers: {half} latency: 10e-6 overhead: 5e-6 bandwidth: 1.25e9 }}""",
    "speeds": """device {{ name: "fast" count: {half} flops: 40e9 memory: 16e9 }}
                 device {{ name: "slow" count: {half} flops: 10e9 memory: 16e9 }}
                 link {{ latency: 40e-6 overhead: 10e-6 bandwidth: 1e9 }}""",
}
PLANS = Path(__file__).resolve().parents[2] / "shared" / "plans"
Row = dict[str, Any]


def cluster_of(kind: str, workers: int) -> ClusterProto:
    """``workers`` devices of one kind."""
    text = DEVICES[kind].format(all=workers, half=workers // 2)
    cluster: ClusterProto = read_job_text(f'name: "devices" cluster {{ {text} }}').proto.cluster
    return cluster


def rows_scheme(axis: int) -> Scheme:
    """Every layer cut on ``axis``, copied where it has no such axis."""

    def scheme(net: Any, workers: int) -> Any:
        able = [node.layer.output.rank > axis and node.layer.output.shape[axis] >= workers for node in net.nodes]
        return [
            cut_on_axis(n, axis, workers) if ok else replicate_layer(n, workers, True)
            for n, ok in zip(net.nodes, able, strict=True)
        ]

    return scheme


def hand_plans(name: str, job: Job, workers: int, plans: Path) -> Iterator[tuple[str, Any]]:
    """The plans by hand of a net: a name, and a function that partitions the job."""
    if name.startswith("unet"):
        yield "rows of space", lambda: partition_by_callable(rows_scheme(2), job.proto, workers, job.folder)
    for path in sorted(plans.glob(f"{name}*.conf")):
        hand = read_job(path)
        hand.proto.cluster.MergeFrom(job.proto.cluster)
        yield path.stem, lambda hand=hand: partition_by_scheme(hand.proto, workers, hand.folder, phases=("train",))


def measure(name: str, kind: str, workers: int, limit: float, plans: Path) -> Row:
    """One row of the table."""
    job = read_job(zoo_folder() / f"{NETS[name]}.conf")
    if name == "gpt2":
        job.proto.neuralnet.layer[0].store_conf.batchsize[:] = [2]
    job.proto.cluster.CopyFrom(cluster_of(kind, workers))
    devices = devices_of_cluster(job.proto.cluster)
    started = perf_counter()
    task = PlanningTask(
        profile_net(build_net(job.proto, "train", job.folder), float_size(job.proto)), devices, limit=limit
    )
    timed = dict[str, float]()
    portfolio = _TimedPortfolio(job, task, timed)
    rows = {each: row for row in portfolio.rows for each in row.name.split(", ") if not row.refused}
    own = rows[OPTIMAL]
    others = {each: row.seconds for each, row in rows.items() if each != OPTIMAL}
    best = min(others, key=others.__getitem__)
    found = {"net": name, "devices": kind, "workers": workers, "optimal": own.seconds, "search": timed[OPTIMAL]}
    found |= {"all": perf_counter() - started, "other": others[best], "by": best, **proof_of(own)}
    found["hand"] = {each: by_hand(cut, devices) for each, cut in hand_plans(name, job, workers, plans)}
    return found


class _TimedPortfolio(Portfolio):
    """A portfolio that notes the seconds of each planner in ``timed``."""

    def __init__(self, job: Job, task: PlanningTask, timed: dict[str, float]) -> None:
        self.timed = timed
        super().__init__(job, task)

    def planned(self, name: str, planner: Any, group: int | None = None) -> Any:
        started = perf_counter()
        found = super().planned(name, planner, group)
        self.timed[name] = perf_counter() - started
        if name == OPTIMAL:
            self.own = found.row.seconds
        return found


def by_hand(cut: Any, devices: Devices) -> float | str:
    """Predicted seconds of a plan by hand; the reason if it cannot be cut so."""
    try:
        return predict_step(cut(), devices).seconds
    except NetpartError as error:
        return str(error)


def proof_of(row: ProposalRow) -> Row:
    """The bound and the gap of the row."""
    return {"bound": row.proof.bound, "gap": row.proof.gap, "proved": row.proof.proved} if row.proof else {}


def line_of(row: Row) -> str:
    """A line of the printed table."""
    hand = ", ".join(f"{n} {s * 1e3:.2f}" if isinstance(s, float) else f"{n} -" for n, s in row["hand"].items())
    return (
        f"{row['net']:9} {row['devices']:7} {row['workers']:2}  optimal {row['optimal'] * 1e3:10.2f} ms  other "
        f"{row['other'] * 1e3:10.2f} ms ({row['by']})  gap {row.get('gap', float('nan')):.2%}"
        f"  search {row['search']:.1f} s of {row['all']:.1f}  by hand: {hand or '-'}"
    )


def main() -> None:
    """Run the comparison."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nets", default=",".join(NETS))
    parser.add_argument("--workers", default="2,8")
    parser.add_argument("--devices", default=",".join(DEVICES))
    parser.add_argument("--limit", type=float, default=10.0)
    parser.add_argument("--plans", type=Path, default=PLANS)
    parser.add_argument("-o", "--output", type=Path, default=Path("out/optimal.json"))
    args = parser.parse_args()
    found = []
    for name in args.nets.split(","):
        for workers in map(int, args.workers.split(",")):
            for kind in args.devices.split(","):
                found.append(measure(name, kind, workers, args.limit, args.plans))
                print(line_of(found[-1]), flush=True)
                args.output.parent.mkdir(parents=True, exist_ok=True)
                args.output.write_text(json.dumps(found, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
