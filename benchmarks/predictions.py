"""Error of the planner's prediction: predicted and measured steps of two workers, for several plans of small nets.

    python -m benchmarks.predictions              some minutes; benchmarks/results/predictions.json
    python -m benchmarks.predictions --quick      a short trial of everything; writes nothing
    python -m benchmarks.predictions --loaded     measure although other processes use the machine

Predictions are those that `netpart plan` makes by default: kernels timed by shape, alone, and the kept figures of this
host. Measured steps are medians of profiled runs, of which the plans of a net take turns.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from statistics import median

from benchmarks.load import LoadedMachineError, Watch, expect_quiet, look
from benchmarks.machine import again_on_one_thread
from benchmarks.nets import NETS, job, smaller
from benchmarks.rows import RESULTS, Row, finish, write
from netpart.cli.planning_prices import make_kernel_times
from netpart.errors import ConfigError
from netpart.graph.partition import Partition
from netpart.measure.host_calibration import host_figures
from netpart.measure.profile import profile_job
from netpart.plan.partition import partition_by_scheme
from netpart.plan.price.devices import Devices
from netpart.plan.price.host_devices import figured_devices
from netpart.plan.price.part_prices import TimedPrices
from netpart.plan.price.predict import predict_step
from netpart.plan.timings.host_figures import HostFigures
from netpart.proto.reader import Job, read_job_text
from netpart.threads import available_cores

WORKERS = 2
STEPS, ROUNDS = 12, 3
PACKAGES = ("netpart", "numpy")
SMALL = ("lenet", "cifar", "mlp", "resnet18", "unet3d", "gpt")
SCHEMES = ("DATA", "NAIVE", "GATHER_SCATTER", "COLUMN_ROW", "ONE_WEIRD_TRICK", "PIPELINE")
MEDIAN_GOAL, TAIL_GOAL = 0.05, 0.10
TAIL = 0.95


@dataclass
class PlannedStep:
    """A net under a scheme: its predicted step, and those that were measured."""

    name: str
    job: Job
    predicted: float
    measured: list[float]

    @property
    def row(self) -> Row:
        """The row of the results."""
        return Row(self.name, "measured", self.predicted, median(self.measured))

    @property
    def error(self) -> float:
        """The relative error of the prediction."""
        return abs(self.predicted / median(self.measured) - 1)


def main() -> int:
    """Predict and measure all plans, print, write the results; 1 if a goal was missed or the machine is busy."""
    parser = argparse.ArgumentParser(description="hold predicted steps against measured ones")
    parser.add_argument("--quick", action="store_true", help="small nets, few steps; writes nothing")
    parser.add_argument("--loaded", action="store_true", help="measure on a busy machine, too, and mark the figures")
    parser.add_argument("-o", "--output", type=Path, default=RESULTS / "predictions.json")
    args = parser.parse_args()
    if (code := again_on_one_thread("benchmarks.predictions")) is not None:
        return code
    try:
        return _compare_all(args)
    except LoadedMachineError as error:
        print(error, file=sys.stderr)
        return 1


def _compare_all(args: argparse.Namespace) -> int:
    """Predict and measure every plan. Raises LoadedMachineError on a busy machine, unless told to measure there."""
    refuse = not args.loaded
    if refuse:
        expect_quiet([look()], "benchmarks.predictions")
    figures = host_figures(lambda line: print(line, flush=True), "auto")
    print(f"host: {figures}", flush=True)
    found, loads = list[PlannedStep](), list[float | None]()
    for net in SMALL:
        watch = Watch()
        found += _compare_net(net, figures, args.quick)
        loads.append(watch.others())
        if refuse:
            expect_quiet(loads[-1:], f"the steps of {net}")
    rows = [step.row for step in found] + _error_rows([step.error for step in found])
    settings = {"figures": str(figures), "loaded": args.loaded, "load_of_others": loads, "load": os.getloadavg()[0]}
    if not args.quick:
        write(args.output, rows, PACKAGES, settings)
    return finish(rows[-2:]) if not args.quick else 0


def _compare_net(net: str, figures: HostFigures, quick: bool) -> list[PlannedStep]:
    """All plans of a net; they are measured in turns."""
    steps = [step for scheme in SCHEMES if (step := _predict_plan(net, scheme, figures, quick)) is not None]
    for _ in range(1 if quick else ROUNDS):
        for step in steps:
            count = 3 if quick else STEPS
            step.measured.append(profile_job(step.job, WORKERS, count).profile.step_seconds)
    for step in steps:
        real = median(step.measured) * 1e3
        print(
            f"{step.name}: {step.predicted * 1e3:.2f} ms predicted, {real:.2f} measured, {step.error:.1%}", flush=True
        )
    return steps


def _predict_plan(net: str, scheme: str, figures: HostFigures, quick: bool) -> PlannedStep | None:
    """The predicted step of a net under a scheme; None if the scheme cannot cut it."""
    size = smaller(NETS[net]) if quick else NETS[net]
    proto = job(size, 1)
    proto.num_openblas_threads = 1
    proto.deadline = 300
    name = f"{NETS[net].title}, {scheme}"
    found = read_job_text(f"{proto}", name, overrides=[f"neuralnet.scheme={scheme}"])
    try:
        cut = partition_by_scheme(found.proto, WORKERS, found.folder, phases=("train",))
    except ConfigError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return None
    return PlannedStep(name, found, _predicted_seconds(found, cut, figures), [])


def _predicted_seconds(found: Job, cut: Partition, figures: HostFigures) -> float:
    """What the planner predicts by default, without a limit of the time for timing kernels."""
    times = make_kernel_times(found, figures, float("inf"))
    devices: Devices = figured_devices(cut.workers, figures)
    seconds = predict_step(cut, devices, prices=TimedPrices(times, available_cores())).seconds
    times.save()
    return seconds


def _error_rows(errors: Sequence[float]) -> list[Row]:
    """The goals: the median of the errors, and the error that all but the worst twentieth stay below."""
    tail = sorted(errors)[ceil(TAIL * len(errors)) - 1]
    print(f"median error {median(errors):.1%}, 95th percentile {tail:.1%}, of {len(errors)} plans")
    return [
        Row("median error", "what is allowed", max(median(errors), 1e-3), MEDIAN_GOAL, "of the step", 1.0),
        Row("error at the 95th percentile", "what is allowed", max(tail, 1e-3), TAIL_GOAL, "of the step", 1.0),
    ]


if __name__ == "__main__":
    sys.exit(main())
