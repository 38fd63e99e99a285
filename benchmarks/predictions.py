"""Error of the planner's prediction: predicted and measured steps of two workers, for several plans of small nets.

    python -m benchmarks.predictions              ten minutes; benchmarks/results/predictions.json
    python -m benchmarks.predictions --add --rounds 1    one more round, beside those of the file
    python -m benchmarks.predictions --quick      a short trial of everything; writes nothing
    python -m benchmarks.predictions --loaded     measure although other processes use the machine
    python -m benchmarks.predictions --nets lenet gpt

Predictions are those that `netpart plan` makes by default: kernels timed by shape, alone, and figures of this host.
A host whose cores others share is faster in one minute than in the next. So there are rounds: in each, the figures and
the kernels are timed anew, into a cache of its own, and then the plans are run. The median prediction is compared with
the step that a quarter of all measured steps are below (benchmarks/step_times.py). The drift of a plan is how far the
longest median of a round is above the shortest: no prediction can be expected to be nearer than that.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from itertools import groupby
from math import ceil
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.load import LoadedMachineError, Watch, expect_quiet, look
from benchmarks.machine import again_on_one_thread
from benchmarks.nets import NETS, job, smaller
from benchmarks.rows import RESULTS, Row, finish, write
from benchmarks.step_times import new_cache, step_seconds, undisturbed
from netpart.cli.print_note import print_note
from netpart.errors import ConfigError
from netpart.graph.partition import Partition
from netpart.measure.host_calibration import host_figures
from netpart.measure.planning_prices import make_kernel_times
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
Round = dict[str, Any]
"""Of a round the cores that others used, and the figures of the host."""
MEDIAN_GOAL, TAIL_GOAL = 0.05, 0.10
TAIL = 0.95


@dataclass
class PlannedStep:
    """A net under a scheme: of each round the ``predicted`` seconds of a step, and those of all ``measured`` steps."""

    name: str
    job: Job
    cut: Partition
    predicted: list[float] = field(default_factory=list)
    measured: list[list[float]] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        """The measured seconds of a step."""
        return undisturbed(second for steps in self.measured for second in steps)

    @property
    def row(self) -> Row:
        """The row of the results."""
        return Row(self.name, "measured", median(self.predicted), self.seconds)

    @property
    def error(self) -> float:
        """The relative error of the prediction."""
        return median(self.predicted) / self.seconds - 1

    @property
    def drift(self) -> float:
        """How far the longest of the rounds is above the shortest."""
        rounds = [median(steps) for steps in self.measured]
        return max(rounds) / min(rounds) - 1

    def __str__(self) -> str:
        ours, theirs = median(self.predicted) * 1e3, self.seconds * 1e3
        return (
            f"{self.name}: {ours:.2f} ms predicted, {theirs:.2f} measured, {self.error:+.1%} (drift {self.drift:.1%})"
        )


def main() -> int:
    """Predict and measure all plans, print, write the results; 1 if a goal was missed or the machine is busy."""
    parser = argparse.ArgumentParser(description="hold predicted steps against measured ones")
    parser.add_argument("--quick", action="store_true", help="small nets, few steps; writes nothing")
    parser.add_argument("--loaded", action="store_true", help="measure on a busy machine, too, and mark the figures")
    parser.add_argument("--nets", nargs="+", default=SMALL, choices=NETS, metavar="NET", help=", ".join(NETS))
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"how many (default {ROUNDS})")
    parser.add_argument("--add", action="store_true", help="keep the rounds of the file, too")
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
    steps = [step for net in args.nets for scheme in SCHEMES if (step := _plan_step(net, scheme, args.quick))]
    rounds = _restore_rounds(steps, args.output) if args.add else list[Round]()
    for _ in range(1 if args.quick else args.rounds):
        watch = Watch()
        figures = _play_round(steps, 3 if args.quick else STEPS)
        rounds.append({"load_of_others": watch.others(), "figures": asdict(figures)})
        if refuse:
            expect_quiet([watch.others()], "a round of predictions")
        if not args.quick:
            _write_results(steps, args, rounds)
    for step in steps:
        print(step)
    _print_errors(steps)
    return finish(_error_rows([abs(step.error) for step in steps])) if not args.quick else 0


def _play_round(steps: Sequence[PlannedStep], count: int) -> HostFigures:
    """Measure the figures, which are returned; then, net by net, time the kernels, predict all plans and run them."""
    with new_cache():
        figures = host_figures(print_note, "auto")
        for _, of_net in groupby(steps, key=lambda step: step.name.rpartition(", ")[0]):
            plans = list(of_net)
            told = [_predicted_seconds(step.job, step.cut, figures) for step in plans]
            for step, seconds in zip(plans, told, strict=True):
                step.measured.append(step_seconds(step.job, WORKERS, count, figures.speed))
                step.predicted.append(seconds)
                print(step, file=sys.stderr, flush=True)
    return figures


def _restore_rounds(steps: Sequence[PlannedStep], path: Path) -> list[Round]:
    """Give ``steps`` the rounds of a file of results, and return what it says of each; [] without such a file."""
    found = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    for step in steps:
        kept = found.get("plans", {}).get(step.name, {"predicted": [], "measured": []})
        step.predicted, step.measured = list(kept["predicted"]), list(kept["measured"])
    return list(found.get("rounds", []))


def _write_results(found: Sequence[PlannedStep], args: argparse.Namespace, rounds: Sequence[Round]) -> None:
    """Write what was compared so far."""
    plans = {
        step.name: {"predicted": step.predicted, "measured": [[round(s, 6) for s in each] for each in step.measured]}
        for step in found
    }
    settings = {"plans": plans, "loaded": args.loaded, "rounds": rounds}
    rows = [step.row for step in found] + _error_rows([abs(step.error) for step in found])
    write(args.output, rows, PACKAGES, settings)


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
        "drift of measured steps": [step.drift for step in found],
    }
    for name, each in figures.items():
        print(f"{name}: median {median(each):.1%}, 95th percentile {_tail_error(each):.1%}")


if __name__ == "__main__":
    sys.exit(main())
