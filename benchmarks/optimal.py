"""The row `optimal` compared with all other rows and with plans written by hand: ten nets, 2 and 8 workers, three kinds
of devices; by prediction and by simulation.

    python -m benchmarks.optimal                      all of it: a table, and benchmarks/results/optimal.json
    python -m benchmarks.optimal --nets gpt2,unet2d --workers 8 --devices fast --limit 20

Devices: one host of fast links, as V100s with NVLink; two hosts on Ethernet, each with half of the workers; two speeds,
each of half of the workers. Predicted seconds are those of ``predict_step``, simulated ones those of ``netpart simulate
--by flops``; ``search`` are the seconds of the processor that the row took. Plans by hand are those of
``benchmarks/hand_plans.py``, and files NET*.conf of the same layers in ../shared/plans or
--plans. Rows and plans that are predicted to
take up to MARGIN times what `optimal` takes are simulated. The exit code is 1 if a row or a plan that fits the devices
takes less than `optimal` by simulation, or by prediction if it is not simulated.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

from benchmarks.hand_plans import hand_plans
from benchmarks.rows import RESULTS, keep_rows
from benchmarks.zoo_nets import NETS
from netpart.errors import NetpartError
from netpart.graph.build import build_net
from netpart.graph.partition import Partition
from netpart.measure.model_simulation import simulated_step_seconds
from netpart.plan.partition import partition_by_callable, partition_by_scheme
from netpart.plan.price.devices import Devices, devices_of_cluster
from netpart.plan.price.layer_loads import profile_net
from netpart.plan.price.predict import predict_memory, predict_step
from netpart.plan.search.planners import OPTIMAL, Planner
from netpart.plan.search.portfolio import Portfolio
from netpart.plan.search.proposal import Proposal
from netpart.plan.search.simulated_rows import MARGIN
from netpart.plan.search.task import PlanningTask
from netpart.proto.element import float_size
from netpart.proto.job_pb2 import ClusterProto
from netpart.proto.reader import Job, read_job, read_job_text
from netpart.resources import zoo_folder

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
LIMITS = {2: 40.0, 8: 120.0}
"""Seconds of all planners, by workers: the search has half of them, the goal for it."""
EQUAL = 1e-6
"""Relative difference of seconds that counts as none: sums in another order."""
Row = dict[str, Any]
Cut = Callable[[], Partition]


def cluster_of(kind: str, workers: int) -> ClusterProto:
    """``workers`` devices of one kind."""
    text = DEVICES[kind].format(all=workers, half=workers // 2)
    cluster: ClusterProto = read_job_text(f'name: "devices" cluster {{ {text} }}').proto.cluster
    return cluster


def benchmark_job(name: str, kind: str, workers: int) -> Job:
    """The job of a net for ``workers`` devices of one kind."""
    job = read_job(zoo_folder() / f"{NETS[name]}.conf")
    if name == "gpt2":
        job.proto.neuralnet.layer[0].store_conf.batchsize[:] = [2]
    job.proto.cluster.CopyFrom(cluster_of(kind, workers))
    return job


def cuts_by_hand(name: str, job: Job, workers: int, plans: Path) -> Iterator[tuple[str, Cut]]:
    """The plans by hand of a net: a name, and a function that partitions the job."""
    net = build_net(job.proto, "train", job.folder)
    for plan in hand_plans(net, workers):
        scheme = plan.scheme(net)
        yield plan.name, partial(partition_by_callable, scheme, job.proto, workers, job.folder, phases=("train",))
    for path in sorted(plans.glob(f"{name}*.conf")):
        hand = read_job(path)
        if [layer.name for layer in hand.proto.neuralnet.layer] != [layer.name for layer in job.proto.neuralnet.layer]:
            continue  # a plan for a net of other layers
        hand.proto.cluster.MergeFrom(job.proto.cluster)
        yield path.stem, partial(partition_by_scheme, hand.proto, workers, hand.folder, phases=("train",))


def measure(name: str, kind: str, workers: int, limit: float, plans: Path) -> Row:
    """One row of the table."""
    job = benchmark_job(name, kind, workers)
    devices = devices_of_cluster(job.proto.cluster)
    started = process_time()
    profile = profile_net(build_net(job.proto, "train", job.folder), float_size(job.proto))
    portfolio = _TimedPortfolio(job, PlanningTask(profile, devices, limit=limit), simulator(devices))
    found: Row = {"net": name, "devices": kind, "workers": workers, "layers": len(profile.layers)}
    found["search"] = portfolio.timed[OPTIMAL]
    found["all"] = process_time() - started
    own = portfolio.find_proposal(OPTIMAL)
    assert own.partition is not None, "what can be chosen is partitioned"
    predicted, simulated = row_pair(own)
    found[OPTIMAL] = predicted, simulated or simulator(devices)(own.partition)
    if own.row.proof:
        found |= {"bound": own.row.proof.bound, "gap": own.row.proof.gap, "proved": own.row.proof.proved}
    found["others"] = {p.row.name: row_pair(p) for p in portfolio.proposals if is_other(p)}
    by_hand = cuts_by_hand(name, portfolio.job, workers, plans)
    found["hand"] = {each: price_by_hand(cut, devices, found[OPTIMAL]) for each, cut in by_hand}
    return found | {"worse": list(faster_than(found, True)), "predicted worse": list(faster_than(found, False))}


def row_key(row: Row) -> tuple[int, int, int]:
    """The place of a row in the table: by net, number of workers and devices."""
    return list(NETS).index(row["net"]), row["workers"], list(DEVICES).index(row["devices"])


def simulator(devices: Devices) -> Callable[[Partition], float]:
    """The simulated seconds of a step on ``devices``."""
    return lambda partition: simulated_step_seconds(partition, devices.network, devices.speeds)


def row_pair(proposal: Proposal) -> tuple[float, float | None]:
    """The predicted and the simulated seconds of a row."""
    row = proposal.row
    return (row.seconds, None) if row.predicted is None else (row.predicted, row.seconds)


def is_other(proposal: Proposal) -> bool:
    """True for a proposal of other planners that can be chosen."""
    return not proposal.row.refused and OPTIMAL not in proposal.row.name.split(", ")


class _TimedPortfolio(Portfolio):
    """A portfolio that notes the seconds of each row in ``timed``: its search, its predictions and its proposal."""

    def __init__(self, job: Job, task: PlanningTask, simulate: Callable[[Partition], float]) -> None:
        self.timed: defaultdict[str, float] = defaultdict(float)
        super().__init__(job, task, simulate=simulate)

    def predict_search(self, name: str, planner: Planner) -> None:
        started = process_time()
        super().predict_search(name, planner)
        self.timed[name] += process_time() - started

    def planned(self, name: str, planner: Planner, group: int | None = None) -> Proposal:
        started = process_time()
        found = super().planned(name, planner, group)
        self.timed[name] += process_time() - started
        return found


def price_by_hand(cut: Cut, devices: Devices, optimal: tuple[float, float]) -> tuple[float, float | None] | str:
    """Predicted and simulated seconds of a plan by hand, the latter only if it may be faster than ``optimal``; or the
    reason why it cannot be used."""
    try:
        partition = cut()
    except NetpartError as error:
        return str(error)
    seconds = predict_step(partition, devices).seconds
    if seconds > MARGIN * min(optimal):
        return seconds, None
    needs = predict_memory(partition)
    if any(need > device.memory for need, device in zip(needs, devices.devices, strict=True)):
        return f"needs {max(needs)} bytes"
    return seconds, simulator(devices)(partition)


def faster_than(row: Row, simulated: bool) -> Iterator[str]:
    """What is faster than `optimal`: by prediction, or with ``simulated`` by simulation where it is simulated. Seconds
    are compared with seconds of the same kind, as a simulation counts more than a prediction."""
    told, played = row[OPTIMAL]
    for name, seconds in (row["others"] | row["hand"]).items():
        if not isinstance(seconds, str):
            ratio = played / seconds[1] if simulated and seconds[1] else told / seconds[0]
            if ratio > 1 + EQUAL:
                yield f"{name} {ratio - 1:.2%}"


def line_of(row: Row) -> str:
    """A line of the printed table: each pair of seconds is predicted and simulated."""
    worse = f"WORSE THAN {'; '.join(row['worse'])}" if row["worse"] else "never worse"
    worse += f" (predicted: {'; '.join(row['predicted worse'])})" if row["predicted worse"] else ""
    pairs = f"optimal {pair_text(row[OPTIMAL])}  other {best_text(row['others'])}  by hand {best_text(row['hand'])}"
    gap = f"gap {row.get('gap', float('nan')):.2%}  search {row['search']:.1f} s of {row['all']:.1f}"
    return f"{row['net']:9} {row['devices']:7} {row['workers']:2}  {pairs}  {gap}  {worse}"


def best_text(plans: dict[str, Any]) -> str:
    """The plan that is predicted to be the fastest."""
    able = {name: seconds for name, seconds in plans.items() if not isinstance(seconds, str)}
    best = min(able, key=lambda name: able[name][0], default=None)
    return f"{pair_text(able[best])} ({best})" if best else "-"


def pair_text(seconds: tuple[float, float | None]) -> str:
    """Predicted and simulated milliseconds."""
    return " ".join(f"{each * 1e3:9.3f}" if each is not None else "        -" for each in seconds)


def main() -> int:
    """Run the comparison; return 1 if `optimal` is worse than something."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nets", default=",".join(NETS))
    parser.add_argument("--workers", default="2,8")
    parser.add_argument("--devices", default=",".join(DEVICES))
    parser.add_argument("--limit", type=float, help="seconds of all planners (default: by the number of workers)")
    parser.add_argument("--plans", type=Path, default=PLANS)
    parser.add_argument("-o", "--output", type=Path, default=RESULTS / "optimal.json", help="where rows are kept")
    args = parser.parse_args()
    found = []
    for name in args.nets.split(","):
        for workers in map(int, args.workers.split(",")):
            for kind in args.devices.split(","):
                limit = args.limit or LIMITS.get(workers, max(LIMITS.values()))
                found.append(measure(name, kind, workers, limit, args.plans))
                print(line_of(found[-1]), flush=True)
                keep_rows(args.output, ("netpart", "numpy"), found[-1:], row_key)
    return int(any(row["worse"] for row in found))


if __name__ == "__main__":
    sys.exit(main())
