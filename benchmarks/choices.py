"""The plan that `netpart plan` takes against the other rows of its table, all measured with two workers on this host.

    python -m benchmarks.choices                  half an hour; benchmarks/results/choices.json
    python -m benchmarks.choices --nets lenet gpt some nets; the rows of the others stay
    python -m benchmarks.choices --loaded         measure although other processes use the machine

Each net is planned as `netpart plan JOB --workers 2 --limit 10` does. Then the rows of
the table are run in turn, in rounds: a few steps of each. Rows that take more than FAR times what the fastest takes, by
prediction or in a round, are not run again. The plan that is taken is the best if no row is faster by more than EQUAL,
which is less than what repeated runs differ by.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from benchmarks.load import Watch, add_loaded_option, begin_watch, loaded
from benchmarks.machine import again_on_one_thread
from benchmarks.nets import NETS as TIMED
from benchmarks.nets import Net, job
from benchmarks.rows import RESULTS as FOLDER
from benchmarks.rows import keep_rows
from benchmarks.step_times import new_cache, step_seconds, undisturbed
from netpart.cli.print_note import print_note
from netpart.measure.host_calibration import host_figures
from netpart.measure.planning_prices import PlanningRequest
from netpart.measure.propose_plans import propose_plans
from netpart.plan.search.proposal import Proposal
from netpart.plan.text.write_plan import with_placements
from netpart.plan.timings.host_figures import write_host_figures
from netpart.proto.reader import Job, read_job_text

WORKERS, STEPS, ROUNDS = 2, 10, 3
LIMIT = 10.0
"""Seconds of each search, and of timing kernels."""
FAR, EQUAL = 1.3, 0.02
BEST_GOAL, WORST_GOAL = 0.8, 0.05
"""The goals: the part of the nets of which the best plan is taken, and how much more than the best any plan takes."""
PACKAGES = ("netpart", "numpy")
NETS = {
    net.name: net
    for net in (
        *(TIMED[name] for name in ("lenet", "cifar", "mlp", "resnet18", "unet3d", "gpt")),
        Net("alexnet-small", "AlexNet, small", "graphs/alexnet/alexnet-small.conf", 16),
        Net("vgg16-small", "VGG-16, small", "graphs/vgg/vgg16-small.conf", 16),
        Net("resnet50-small", "ResNet-50, small", "graphs/resnet/resnet50-small.conf", 16),
        Net("mobilenet-small", "MobileNet, small", "graphs/mobilenet/mobilenetv2-small.conf", 16),
        Net("unet2d-small", "2-D U-Net, small", "graphs/unet/unet2d-small.conf", 8),
        Net("vit-small", "ViT-B/16, small", "graphs/vit/vit-b16-small.conf", 16, conv=False),
    )
}
Row = dict[str, Any]


@dataclass
class MeasuredPlan:
    """A row of the table: its job, its predicted seconds, and those of measured steps."""

    name: str
    job: Job
    predicted: float
    measured: list[float] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        """The measured seconds of a step."""
        return undisturbed(self.measured)


def main() -> int:
    """Plan and measure, print, and keep the rows; 1 if a goal was missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nets", nargs="+", default=list(NETS), choices=NETS, metavar="NET", help=", ".join(NETS))
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"rounds of each net (default {ROUNDS})")
    parser.add_argument("-o", "--output", type=Path, default=FOLDER / "choices.json")
    add_loaded_option(parser)
    args = parser.parse_args()
    if (code := again_on_one_thread("benchmarks.choices")) is not None:
        return code
    begin_watch("benchmarks.choices", args.loaded)
    with new_cache():
        # Kept for all nets, also if something disturbed them: then the rows say how many cores others used.
        figures = host_figures(print_note, "auto")
        write_host_figures(figures)
        found = [row for name in args.nets if (row := kept_comparison(name, figures.speed, args)) is not None]
    return int(not reached(found))


def kept_comparison(name: str, speed: float, args: argparse.Namespace) -> Row | None:
    """The row of a net, which is kept; None if others used the machine meanwhile, unless that is allowed."""
    watch = Watch()
    row = compare_plans(NETS[name], speed, args.rounds) | {"load": watch.others()}
    print(line_of(row), flush=True)
    if loaded(row["load"]) and not args.loaded:
        print(f"{name}: {row['load']:.2f} cores in use by other processes; it is not kept", file=sys.stderr)
        return None
    keep_rows(args.output, PACKAGES, [row], lambda each: list(NETS).index(each["net"]))
    return row


def compare_plans(net: Net, speed: float, rounds: int) -> Row:
    """The row of a net: what is predicted and measured of each plan, and which one is taken. ``speed``: of a core."""
    taken, plans = planned_rows(net)
    running = [plan for plan in plans if plan.predicted <= FAR * taken.predicted]
    for _ in range(rounds):
        for plan in running:
            plan.measured += step_seconds(plan.job, plan.job.worker_count, STEPS, speed)
        best = min(plan.seconds for plan in running)
        running = [plan for plan in running if plan is taken or plan.seconds <= FAR * best]
    figures = {p.name: [p.predicted, p.seconds if p.measured else None] for p in plans}
    return {"net": net.name, "taken": taken.name, "plans": figures}


def planned_rows(net: Net) -> tuple[MeasuredPlan, list[MeasuredPlan]]:
    """The plan that is taken, and all that can be."""
    proto = job(net, 1)
    proto.num_openblas_threads, proto.deadline = 1, 300
    written = read_job_text(f"{proto}", net.name)
    request = PlanningRequest(workers=WORKERS, limit=LIMIT)
    portfolio = propose_plans(replace(written, workers=WORKERS), request, print_note)
    best = portfolio.best()
    found = {id(p): measured_plan(p) for p in portfolio.proposals if p.row.usable}
    return found[id(best)], list(found.values())


def measured_plan(proposal: Proposal) -> MeasuredPlan:
    """The plan of a proposal, to be measured."""
    assert proposal.partition is not None, "what can be used is partitioned"
    proto = with_placements(proposal.job.proto, proposal.partition)
    return MeasuredPlan(proposal.row.name, read_job_text(f"{proto}", proposal.row.name), proposal.row.seconds)


def measured_seconds(row: Row) -> dict[str, float]:
    """The measured seconds of the plans that were run."""
    return {name: measured for name, (_, measured) in row["plans"].items() if measured is not None}


def behind(row: Row) -> float:
    """How much longer the plan that is taken takes than the best one; 0 if it is the best."""
    measured = measured_seconds(row)
    return float(measured[row["taken"]] / min(measured.values()) - 1)


def is_best(row: Row) -> bool:
    """True if no plan is measurably faster than the one that is taken."""
    return behind(row) <= EQUAL


def reached(rows: Sequence[Row]) -> bool:
    """True if the best plans of enough nets are taken, and all others are near the best."""
    enough = sum(map(is_best, rows)) >= BEST_GOAL * len(rows)
    return enough and all(behind(row) <= WORST_GOAL for row in rows)


def best_plan(row: Row) -> str:
    """The name of the plan that is measured to be the fastest."""
    measured = measured_seconds(row)
    return min(measured, key=measured.__getitem__)


def line_of(row: Row) -> str:
    """A line for a net, and one for each plan that was run."""
    verdict = "the best" if is_best(row) else f"{behind(row):.1%} behind {best_plan(row)}"
    return "\n".join([f"{row['net']}: {row['taken']} is taken: {verdict}", *_plan_lines(row)])


def _plan_lines(row: Row) -> Iterator[str]:
    for name, seconds in sorted(measured_seconds(row).items(), key=lambda pair: pair[1]):
        told = row["plans"][name][0]
        yield f"  {seconds * 1e3:9.2f} ms measured, {told * 1e3:9.2f} predicted, {told / seconds - 1:+6.1%}  {name}"


if __name__ == "__main__":
    sys.exit(main())
