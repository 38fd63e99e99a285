"""Error of the planner's prediction: predicted and measured steps of two workers, for several plans of small nets.

    python -m benchmarks.predictions              a quarter of an hour; benchmarks/results/predictions.json
    python -m benchmarks.predictions --quick      a short trial of everything; writes nothing
    python -m benchmarks.predictions --loaded     measure although other processes use the machine
    python -m benchmarks.predictions --nets lenet gpt

Predictions are those that `netpart plan` makes by default: kernels timed by shape, alone, and figures of this host.
A host whose cores others share is faster in one minute than in the next. So each net has rounds, in each of which the
figures and the kernels are timed anew, into a cache of its own, and then the plans are run. Medians over the rounds are
compared. The drift of a plan is how far the longest of its measured steps is above the shortest: no prediction can be
expected to be nearer than that. What kept timings predict is reported, too.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.load import LoadedMachineError, Watch, expect_quiet, look
from benchmarks.machine import again_on_one_thread
from benchmarks.nets import NETS, job, smaller
from benchmarks.rows import RESULTS, Row, finish, write
from netpart.cli.print_note import print_note
from netpart.errors import ConfigError
from netpart.graph.partition import Partition
from netpart.measure.host_calibration import host_figures
from netpart.measure.planning_prices import make_kernel_times
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
    """A net under a scheme. Seconds of its step: ``kept`` by the kept timings, and of each round by new ones
    (``predicted``) and ``measured``."""

    name: str
    job: Job
    cut: Partition
    kept: float = 0.0
    predicted: list[float] = field(default_factory=list)
    measured: list[float] = field(default_factory=list)

    @property
    def row(self) -> Row:
        """The row of the results."""
        return Row(self.name, "measured", median(self.predicted), median(self.measured))

    @property
    def error(self) -> float:
        """The relative error of the prediction."""
        return median(self.predicted) / median(self.measured) - 1

    @property
    def kept_error(self) -> float:
        """That of the kept timings."""
        return self.kept / median(self.measured) - 1

    @property
    def drift(self) -> float:
        """How far the longest of the measured steps is above the shortest."""
        return max(self.measured) / min(self.measured) - 1

    def __str__(self) -> str:
        ours, theirs = median(self.predicted) * 1e3, median(self.measured) * 1e3
        found = f"{self.name}: {ours:.2f} ms predicted, {theirs:.2f} measured, {self.error:+.1%}"
        return f"{found} (kept timings {self.kept_error:+.1%}, drift {self.drift:.1%})"


def main() -> int:
    """Predict and measure all plans, print, write the results; 1 if a goal was missed or the machine is busy."""
    parser = argparse.ArgumentParser(description="hold predicted steps against measured ones")
    parser.add_argument("--quick", action="store_true", help="small nets, few steps; writes nothing")
    parser.add_argument("--loaded", action="store_true", help="measure on a busy machine, too, and mark the figures")
    parser.add_argument("--nets", nargs="+", default=SMALL, choices=NETS, metavar="NET", help=", ".join(NETS))
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"rounds of each net (default {ROUNDS})")
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
    found, loads = list[PlannedStep](), list[float | None]()
    for net in args.nets:
        watch = Watch()
        found += _compare_net(net, args)
        loads.append(watch.others())
        if not args.quick:
            _write_results(found, args, loads)
        if refuse:
            expect_quiet(loads[-1:], f"the steps of {net}")
    _print_errors(found)
    return finish(_error_rows([abs(step.error) for step in found])) if not args.quick else 0


def _write_results(found: Sequence[PlannedStep], args: argparse.Namespace, loads: Sequence[float | None]) -> None:
    """Write what was compared so far."""
    plans = {
        step.name: {"kept": step.kept, "predicted": step.predicted, "measured": step.measured, "drift": step.drift}
        for step in found
    }
    settings = {"plans": plans, "loaded": args.loaded, "load_of_others": loads, "load": os.getloadavg()[0]}
    rows = [step.row for step in found] + _error_rows([abs(step.error) for step in found])
    write(args.output, rows, PACKAGES, settings)


def _compare_net(net: str, args: argparse.Namespace) -> list[PlannedStep]:
    """All plans of a net, predicted and measured in turns."""
    steps = [step for scheme in SCHEMES if (step := _plan_step(net, scheme, args.quick)) is not None]
    for step, seconds in zip(steps, _predict_all(steps), strict=True):
        step.kept = seconds
    for _ in range(1 if args.quick else args.rounds):
        with _new_cache():
            for step, seconds in zip(steps, _predict_all(steps), strict=True):
                step.predicted.append(seconds)
        for step in steps:
            step.measured.append(profile_job(step.job, WORKERS, 3 if args.quick else STEPS).profile.step_seconds)
    for step in steps:
        print(step, flush=True)
    return steps


def _plan_step(net: str, scheme: str, quick: bool) -> PlannedStep | None:
    """The step of a net under a scheme; None if the scheme cannot cut it."""
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
    return PlannedStep(name, found, cut)


@contextmanager
def _new_cache() -> Iterator[None]:
    """Within this, no figures and timings are kept yet."""
    before = os.environ.get("XDG_CACHE_HOME")
    with TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        try:
            yield
        finally:
            os.environ.pop("XDG_CACHE_HOME")
            os.environ.update({} if before is None else {"XDG_CACHE_HOME": before})


def _predict_all(steps: Sequence[PlannedStep]) -> list[float]:
    """What the planner predicts by default for each step, without a limit of the time for timing kernels."""
    figures = host_figures(lambda line: print(line, file=sys.stderr, flush=True), "auto")
    return [_predicted_seconds(step.job, step.cut, figures) for step in steps]


def _predicted_seconds(found: Job, cut: Partition, figures: HostFigures) -> float:
    """The predicted seconds of one step."""
    times = make_kernel_times(found, figures, float("inf"), print_note)
    devices: Devices = figured_devices(cut.workers, figures)
    seconds = predict_step(cut, devices, prices=TimedPrices(times, available_cores())).seconds
    times.save()
    return seconds


def _error_rows(errors: Sequence[float]) -> list[Row]:
    """The goals: the median of the errors, and the error that all but the worst twentieth stay below."""
    middle, tail = median(errors), _tail_error(errors)
    return [
        Row("median error", "what is allowed", max(middle, 1e-3), MEDIAN_GOAL, "of the step", 1.0),
        Row("error at the 95th percentile", "what is allowed", max(tail, 1e-3), TAIL_GOAL, "of the step", 1.0),
    ]


def _tail_error(errors: Sequence[float]) -> float:
    """The error that all but the worst twentieth stay below."""
    return sorted(errors)[ceil(TAIL * len(errors)) - 1]


def _print_errors(found: Sequence[PlannedStep]) -> None:
    """Print the median and the tail of all errors, and of the drift."""
    print(f"{len(found)} plans")
    figures = {
        "error": [abs(step.error) for step in found],
        "error of kept timings": [abs(step.kept_error) for step in found],
        "drift of measured steps": [step.drift for step in found],
    }
    for name, each in figures.items():
        print(f"{name}: median {median(each):.1%}, 95th percentile {_tail_error(each):.1%}")


if __name__ == "__main__":
    sys.exit(main())
