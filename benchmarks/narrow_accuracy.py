"""Accuracy in bfloat16: jobs of graphs/, trained in float32 and in bfloat16 from the same seeds, and then tested.

    python -m benchmarks.narrow_accuracy                      all jobs; benchmarks/results/narrow-accuracy.json
    python -m benchmarks.narrow_accuracy lenet                one job, in place of its row in the results
    python -m benchmarks.narrow_accuracy lenet --seeds 1      a trial; writes nothing without -o
    python -m benchmarks.narrow_accuracy --kernels reference  where the processor does not multiply bfloat16

A training amplifies rounding: with the same sums in another order it ends some points away, as with another seed. So
the mean over the seeds counts, and its standard error shows how much of a difference is chance. Each run has one worker
on all cores; runs take turns.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from statistics import mean, stdev
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from benchmarks.large_cohort import large_cohort
from benchmarks.machine import ROOT
from benchmarks.options import BFLOAT16, FLOAT32
from benchmarks.rows import RESULTS, keep_rows
from netpart.choices import AUTO, KERNELS
from netpart.launch.report.speedup import read_summary
from netpart.processor import this_processor

GOAL = 0.5
"""The most points of accuracy, in percent, that the mean over the seeds may lose."""
SEEDS = 1, 2, 3
PRECISIONS = FLOAT32, BFLOAT16
PACKAGES = "netpart", "numpy"


class TrainedJob(NamedTuple):
    """A job that is trained and tested: its title, its file, and what prepares its data and returns its options."""

    title: str
    conf: str
    prepare: Callable[[], list[str]] = list


JOBS = {
    "lenet": TrainedJob("LeNet on digits, the demo", "graphs/mnist/conv.conf"),
    "gpt": TrainedJob("tiny GPT, the next byte", "graphs/gpt/tiny.conf"),
    "phantoms": TrainedJob("3D-ResAttNet18 on phantoms, 80 tests", "graphs/resattnet/resattnet18-ad-nc.conf"),
    "cohort": TrainedJob(
        "3D-ResAttNet18 on phantoms, 400 tests", "graphs/resattnet/resattnet18-ad-nc.conf", large_cohort
    ),
}


def measure_job(job: TrainedJob, seeds: Sequence[int], kernels: str = AUTO) -> dict[str, Any]:
    """The row of a job: the accuracy of the last test, in percent, of each precision and seed. ``kernels`` are those of
    bfloat16; float32 has the fastest."""
    options = job.prepare()
    where = {"date": date.today().isoformat(), "processor": this_processor(), "kernels": kernels}
    row: dict[str, Any] = {"work": job.title, "seeds": list(seeds), FLOAT32: [], BFLOAT16: []} | where
    for seed in seeds:
        for precision in PRECISIONS:
            library = kernels if precision == BFLOAT16 else AUTO
            choice = ["--seed", str(seed), "--precision", precision, "--kernels", library]
            row[precision].append(train_job(job.conf, choice + options))
            print(f"{job.title}, seed {seed}, {precision}: {row[precision][-1]:.2f} %", flush=True)
    return row | compare_accuracies(row[FLOAT32], row[BFLOAT16])


def compare_accuracies(wide: Sequence[float], narrow: Sequence[float]) -> dict[str, float]:
    """The mean of what the second accuracies are above the first, in points, and its standard error."""
    apart = [second - first for first, second in zip(wide, narrow, strict=True)]
    error = stdev(apart) / len(apart) ** 0.5 if len(apart) > 1 else 0.0
    return {"points": round(mean(apart), 3), "standard_error": round(error, 3)}


def train_job(conf: str, options: Sequence[str]) -> float:
    """The accuracy of the last test, in percent. Raises RuntimeError, with the output of the command, if it fails."""
    with TemporaryDirectory() as folder:
        summary = Path(folder) / "summary.json"
        written = ["--workspace", folder, "--summary", str(summary)]
        call = [sys.executable, "-m", "netpart", "run", conf, "--workers", "1", *options, *written]
        done = subprocess.run(call, cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{' '.join(call)}: exit code {done.returncode}: {done.stderr}")
        return 100 * read_summary(summary).accuracies[-1][1]


def main(arguments: Sequence[str] | None = None) -> int:
    """Train, print, write the results; 1 if a job misses the goal."""
    parser = argparse.ArgumentParser(description="compare accuracies in float32 and in bfloat16")
    parser.add_argument("jobs", nargs="*", choices=[*JOBS, []], help="jobs (default: all)")
    parser.add_argument("--seeds", nargs="+", type=int, default=SEEDS, help="seeds of the trainings (default: 1 2 3)")
    parser.add_argument("--kernels", choices=KERNELS, default=AUTO, help="those of bfloat16 (default: the fastest)")
    parser.add_argument("-o", "--output", type=Path, metavar="F.json", help="where rows are kept")
    args = parser.parse_args(arguments)
    output = args.output or (RESULTS / "narrow-accuracy.json" if tuple(args.seeds) == SEEDS else None)
    rows = []
    for name in args.jobs or JOBS:
        rows.append(measure_job(JOBS[name], args.seeds, args.kernels))
        print("{work}: {points:+.2f} points in bfloat16, standard error {standard_error:.2f}".format(**rows[-1]))
        if output:
            keep_rows(output, PACKAGES, rows[-1:], title_order)
    return int(any(row["points"] < -GOAL for row in rows))


def title_order(row: dict[str, Any]) -> int:
    """The place of a row in the report: that of its job in JOBS."""
    return [job.title for job in JOBS.values()].index(row["work"])


if __name__ == "__main__":
    sys.exit(main())
