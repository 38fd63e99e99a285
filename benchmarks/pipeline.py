"""Idle time of the stages of a pipeline: measured and simulated, compared with the published (K - 1) / (M + K - 1).

    python -m benchmarks.pipeline               five minutes; benchmarks/results/pipeline.json
    python -m benchmarks.pipeline --quick       a short trial of everything; writes nothing without -o

A net of K equal stages of inner products is trained on K workers of a thread each, in M micro-batches of as many rows
each. A worker is busy while it computes: forward, backward, updates, and sums of its gradients over micro-batches.
Messages and waiting do not count as busy. As fractions of the time of a step:

    idle    = 1 - the mean busy fraction of the workers
    unequal = the busy fraction of the busiest worker - that mean: it had more to do, or a slower core
    bubble  = idle - unequal = 1 - the busy fraction of the busiest worker: no better balance could fill it

The median bubble is compared; the median of the idle fraction is reported with it. The work of a micro-batch is large
compared with its messages: stages are 512 wide inside, and 64 where they end. Each message still costs time, because in
1F1B a worker sends when its partner runs out of work, and waits whenever the machine has slowed its partner down. In
GPipe all micro-batches are in flight at once, so a worker waits only for the sum of such delays. Both orders are
measured.

With two stages the workers are processes of this machine and are profiled. With more stages than it has cores they are
simulated. With delayed gradients the workers need no micro-batches, and complete twice as many mini-batches as one
mini-batch at a time without micro-batches would.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from statistics import mean, median

from benchmarks.load import add_loaded_option, begin_watch
from benchmarks.rows import RESULTS, Row, finish, write
from netpart.collectives.network import LinkCost
from netpart.measure.link_speed import measure_link
from netpart.measure.profile import ProfiledRun, profile_job
from netpart.measure.simulate import simulate_partition
from netpart.measure.step_profile import WorkerTime
from netpart.measure.timeline import BUSY, Timeline, own_seconds
from netpart.plan.partition import partition_by_scheme
from netpart.proto.reader import Job, read_job_text

THREADS = "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"
PACKAGES = "netpart", "numpy"
MEASURED, SIMULATED = (2,), (4, 8)
"""Stages."""
ORDERS = {"ONE_F_ONE_B": "1F1B", "GPIPE": "GPipe"}
"""The orders by their name in a job, with the text that is printed."""
MICRO_BATCHES = 1, 2, 3, 4, 6, 8, 12, 16
FEW = 3
"""Steps that are simulated: few are enough, as all workers take turns on one core and none delays another."""
ERROR_GOAL = 0.10
FORMULA = "(K - 1) / (M + K - 1)"


@dataclass(frozen=True)
class Size:
    """Sizes of the net: the layers of a stage, their width, the width of the last one, whose output goes to the next
    stage, the rows of a micro-batch, and the counted steps."""

    layers: int = 8
    width: int = 512
    border: int = 64
    rows: int = 1024
    steps: int = 12


def main() -> int:
    """Measure, simulate, print, write the results; 1 if a goal was missed."""
    parser = argparse.ArgumentParser(description="measure how long the stages of a pipeline wait")
    parser.add_argument("--quick", action="store_true", help="small nets, few steps; writes nothing without -o")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write the results to FILE")
    add_loaded_option(parser)
    args = parser.parse_args()
    if any(os.environ.get(name) != "1" for name in THREADS):  # what reads them has been imported: begin again
        again = [sys.executable, "-m", "benchmarks.pipeline", *sys.argv[1:]]
        return subprocess.run(again, env=os.environ | dict.fromkeys(THREADS, "1"), check=False).returncode
    watch = begin_watch("benchmarks.pipeline", args.loaded or args.quick)
    size, shares = (Size(2, 64, 8, 16, 3), (1, 4)) if args.quick else (Size(), MICRO_BATCHES)
    link = measure_link()
    measured = {o: [stage_rows(size, k, m, None, o) for k in MEASURED for m in shares] for o in ORDERS}
    simulated = [stage_rows(size, k, m, link) for k in SIMULATED for m in shares]
    rows = [row for rows in (*chain(*measured.values()), *simulated) for row in rows]
    rows.append(print_row(delayed_row(size)))
    errors = [error_row(ORDERS[order], found) for order, found in measured.items()]
    rows += errors
    if args.output or not args.quick:
        settings = {**vars(size), "link": vars(link), "load_of_others": watch.others()}
        write(args.output or RESULTS / "pipeline.json", rows, PACKAGES, {"settings": settings})
    return 0 if args.quick else finish(errors)


def print_row(row: Row) -> Row:
    """Print ``row`` and return it."""
    print(f"{row.work}: {row.netpart:.4g} {row.unit}, {row.against}: {row.peer:.4g}", flush=True)
    return row


def error_row(order: str, measured: list[list[Row]]) -> Row:
    """The largest difference of a measured bubble from the formula."""
    errors = [abs(first.netpart / first.peer - 1) for first, *_ in measured]
    return Row(f"greatest error of what was measured of {order}", "what is allowed", max(errors), ERROR_GOAL, "", 1.0)


def stage_rows(
    size: Size, stages: int, micro_batches: int, link: LinkCost | None, order: str = "ONE_F_ONE_B"
) -> list[Row]:
    """Rows of ``stages`` stages, simulated over ``link`` or measured: the bubble and the formula, busy fractions."""
    steps = size.steps if link is None else FEW
    found = played(job(size, stages, micro_batches, order), stages, steps, link)
    about = f"K = {stages}, M = {micro_batches}, {ORDERS[order]}, {'measured' if link is None else 'simulated'}"
    formula = (stages - 1) / (micro_batches + stages - 1)
    workers = [busy(worker) / micro_batches for worker in found.profile.workers]
    rows = [
        Row(f"{about}: bubble", FORMULA, bubble(found.timeline), formula, "of a step"),
        Row(f"{about}: idle, unequal work included", FORMULA, idle(found.timeline), formula, "of a step"),
        Row(f"{about}: a micro-batch in the slowest stage", "in the fastest", max(workers), min(workers)),
    ]
    return [print_row(row) for row in rows]


def delayed_row(size: Size) -> Row:
    """The step of two stages with delayed gradients, compared with one mini-batch at a time."""
    late, plain = (played(job(size, 2, 1, order), 2, size.steps, None) for order in ("DELAYED", "ONE_F_ONE_B"))
    about = "K = 2, delayed gradients: a mini-batch, measured"
    return Row(about, "one mini-batch at a time", late.profile.step_seconds, plain.profile.step_seconds)


def played(found: Job, workers: int, steps: int, link: LinkCost | None) -> ProfiledRun:
    """Play ``steps`` steps, simulated over a ``link`` or, without one, in a real run."""
    if link is None:
        return profile_job(found, workers, steps)
    return simulate_partition(partition_by_scheme(found.proto, workers, found.folder, phases=("train",)), steps, link)


def busy(worker: WorkerTime) -> float:
    """Seconds of a step that a worker computes."""
    return worker.forward + worker.backward + worker.update + worker.moving


def bubble(found: Timeline) -> float:
    """The part of a step in which not even the busiest worker computes: the median over steps."""
    return 1 - median(map(max, busy_shares(found)))


def idle(found: Timeline) -> float:
    """The part of a step in which workers do not compute, the mean over all: the median over steps."""
    return 1 - median(map(mean, busy_shares(found)))


def busy_shares(found: Timeline) -> list[list[float]]:
    """The fraction of each step in which each worker computes."""
    return [[busy_share(found.of_step(step), w) for w in range(found.workers)] for step in found.steps]


def busy_share(step: Timeline, worker: int) -> float:
    """The fraction of a step in which a worker computes."""
    seconds = own_seconds(step.of_worker(worker))
    return sum(seconds[kind] for kind in BUSY) / sum(seconds.values())


def job(size: Size, stages: int, micro_batches: int, order: str = "ONE_F_ONE_B") -> Job:
    """A job of equal stages. The first layer of the net computes no gradient of its input. Its input is half as wide
    again as that of the next stage, so that its two products take as long as the three of another layer."""
    count = size.layers * stages
    layers = [inner(i, size, i // size.layers) for i in range(count)]
    text = f"""
name: "stages" train_steps: 1 num_openblas_threads: 1 deadline: 300
updater {{ type: kSGD learning_rate {{ type: kFixed base_lr: 0.001 }} }}
neuralnet {{ micro_batches: {micro_batches} schedule: {order}
  layer {{ name: "data" type: kSyntheticInput location: 0
    store_conf {{ batchsize: {size.rows * micro_batches} shape: {3 * size.border // 2} }}
    synthetic_conf {{ classes: 8 batches: 1 }} }}
  {"".join(layers)}
  layer {{ name: "loss" type: kSoftmaxLoss srclayers: "fc{count - 1}" srclayers: "data" location: {stages - 1} }}
}}"""
    return read_job_text(text, "stages")


def inner(i: int, size: Size, stage: int) -> str:
    """Layer ``i``: an inner product, narrow where its stage ends."""
    source, init = f"fc{i - 1}" if i else "data", "init { type: kUniformSqrtFanIn }"
    width = size.width if (i + 1) % size.layers else size.border
    return f"""layer {{ name: "fc{i}" type: kInnerProduct srclayers: "{source}" location: {stage}
    innerproduct_conf {{ num_output: {width} }} param {{ {init} }} param {{ init {{ type: kConstant }} }} }}
  """


if __name__ == "__main__":
    sys.exit(main())
