"""How long the stages of a pipeline wait: measured and simulated, beside the published (K - 1) / (M + K - 1).

    python -m benchmarks.pipeline               five minutes; benchmarks/results/pipeline.json
    python -m benchmarks.pipeline --quick       a look whether everything works; writes nothing without -o

A net of K equal stages of inner products is trained on K workers of a thread each, in M micro-batches of as many rows
each. What is compared is the waiting share: the time of a step that a worker waits for messages of others, over the
whole step, the mean over all workers; of each the median over steps. With two stages the workers are processes of this
machine and are profiled; with more than it has cores for they are simulated. With delayed gradients the workers need no
micro-batches, and go through twice as many mini-batches as with one that is not cut.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from benchmarks.rows import RESULTS, Row, finish, write
from netpart.collectives.price import Link
from netpart.launch.links import measure_link
from netpart.launch.profile import profile
from netpart.launch.simulate import simulate
from netpart.plan.partition import partition
from netpart.plan.step_profile import StepProfile
from netpart.proto.reader import Job, loads

THREADS = "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"
PACKAGES = "netpart", "numpy"
MEASURED, SIMULATED = (2,), (4, 8)
"""Stages."""
MICRO_BATCHES = 1, 2, 3, 4, 6, 8, 12, 16
ERROR_GOAL = 0.10
FORMULA = "(K - 1) / (M + K - 1)"


@dataclass(frozen=True)
class Size:
    """Of what is trained: the layers of a stage, their width, the rows of a micro-batch, the steps that count."""

    layers: int = 6
    width: int = 512
    rows: int = 128
    steps: int = 20


def main() -> int:
    """Measures, simulates, prints, writes the results; 1 if a goal was missed."""
    parser = argparse.ArgumentParser(description="measure how long the stages of a pipeline wait")
    parser.add_argument("--quick", action="store_true", help="small nets, few steps; writes nothing without -o")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write the results to FILE")
    args = parser.parse_args()
    if any(os.environ.get(name) != "1" for name in THREADS):  # what reads them has been imported: begin again
        again = [sys.executable, "-m", "benchmarks.pipeline", *sys.argv[1:]]
        return subprocess.run(again, env=os.environ | dict.fromkeys(THREADS, "1"), check=False).returncode
    size, shares = (Size(2, 64, 16, 3), (1, 4)) if args.quick else (Size(), MICRO_BATCHES)
    link = measure_link()
    rows = [told(waiting_row(size, k, m, None)) for k in MEASURED for m in shares]
    errors = [abs(row.netpart / row.peer - 1) for row in rows]
    rows += [told(waiting_row(size, k, m, link)) for k in SIMULATED for m in shares]
    rows.append(told(delayed_row(size)))
    rows.append(Row("greatest error of what was measured", "what is allowed", max(errors), ERROR_GOAL, "", 1.0))
    if args.output or not args.quick:
        settings = {**vars(size), "link": vars(link), "load_at_start": os.getloadavg()[0]}
        write(args.output or RESULTS / "pipeline.json", rows, PACKAGES, {"settings": settings})
    return 0 if args.quick else finish(rows[-1:])


def told(row: Row) -> Row:
    """A row that has been printed."""
    print(f"{row.work}: {row.netpart:.4g} {row.unit}, {row.against}: {row.peer:.4g}", flush=True)
    return row


def waiting_row(size: Size, stages: int, micro_batches: int, link: Link | None) -> Row:
    """The waiting share of ``stages`` stages, simulated over ``link`` or measured, beside the formula."""
    found = played(job(size, stages, micro_batches), stages, size.steps, link)
    how = "measured" if link is None else "simulated"
    about = f"K = {stages}, M = {micro_batches}: waiting share, {how}"
    return Row(about, FORMULA, waiting_share(found), (stages - 1) / (micro_batches + stages - 1), "of a step")


def delayed_row(size: Size) -> Row:
    """A mini-batch in two stages with delayed gradients, beside one at a time."""
    late, plain = (played(job(size, 2, 1, order), 2, size.steps, None) for order in ("DELAYED", "ONE_F_ONE_B"))
    about = "K = 2, delayed gradients: a mini-batch, measured"
    return Row(about, "one mini-batch at a time", late.step_seconds, plain.step_seconds)


def played(found: Job, workers: int, steps: int, link: Link | None) -> StepProfile:
    """The figures of a run, real without a ``link``."""
    if link is None:
        return profile(found, workers, steps).profile
    return simulate(partition(found.proto, workers, found.folder, phases=("train",)), steps, link).profile


def waiting_share(found: StepProfile) -> float:
    """The part of a step that workers wait for messages of others: the mean over all."""
    return mean(worker.waiting / worker.step for worker in found.workers)


def job(size: Size, stages: int, micro_batches: int, order: str = "ONE_F_ONE_B") -> Job:
    """Equal stages. The first layer of all has no gradient to hand on: its input is half as wide again, so that its two
    products take as long as the three of another layer."""
    count, width = size.layers * stages, size.width
    layers = [inner(i, width, i // size.layers) for i in range(count)]
    text = f"""
name: "stages" train_steps: 1 num_openblas_threads: 1 deadline: 300
updater {{ type: kSGD learning_rate {{ type: kFixed base_lr: 0.001 }} }}
neuralnet {{ micro_batches: {micro_batches} schedule: {order}
  layer {{ name: "data" type: kSyntheticInput location: 0
    store_conf {{ batchsize: {size.rows * micro_batches} shape: {3 * width // 2} }}
    synthetic_conf {{ classes: 8 batches: 1 }} }}
  {"".join(layers)}
  layer {{ name: "loss" type: kSoftmaxLoss srclayers: "fc{count - 1}" srclayers: "data" location: {stages - 1} }}
}}"""
    return loads(text, "stages")


def inner(i: int, width: int, stage: int) -> str:
    """Layer ``i``: an inner product."""
    source, init = f"fc{i - 1}" if i else "data", "init { type: kUniformSqrtFanIn }"
    return f"""layer {{ name: "fc{i}" type: kInnerProduct srclayers: "{source}" location: {stage}
    innerproduct_conf {{ num_output: {width} }} param {{ {init} }} param {{ init {{ type: kConstant }} }} }}
  """


if __name__ == "__main__":
    sys.exit(main())
