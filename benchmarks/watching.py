"""What a page that shows a run costs the run's steps.

python -m benchmarks.watching           two nets on two workers; benchmarks/results/watching.json
python -m benchmarks.watching --steps 600 --nets resnet18-small

Within one run, blocks of steps that are watched alternate with blocks in which no worker is asked for a step and no
event is told. A process reads the feed all the time. A page costs what it adds to the work:

traced     median of the seconds by which traced steps are longer than their neighbours, times their number, as a share
           of the watched time
process    processor time of the coordinator's process in watched blocks minus that in the others, as a share of a core
cost       their sum, with the coordinator's time divided among the cores of the workers: the goal is GOAL

Two more figures include all of it. They are not as certain, as the speed of a machine changes by more from one second
to the next, so they are given with their standard errors:

step       seconds of a watched step over those of a step of the next block
processor  the same of processor seconds of all processes of the run, those of the reader included
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from dataclasses import dataclass, field
from itertools import pairwise
from math import sqrt
from pathlib import Path
from statistics import mean, median, stdev
from tempfile import TemporaryDirectory
from time import monotonic, process_time
from typing import Any, NamedTuple
from unittest import mock

from benchmarks.load import add_loaded_option, begin_watch, tree_seconds
from benchmarks.rows import RESULTS, write_report
from netpart.launch.coordinator import conversation
from netpart.launch.coordinator.watch_book import WatchBook
from netpart.launch.report.events import Noticed
from netpart.launch.report.watch_events import StepSampled
from netpart.launch.run import run_job
from netpart.proto.reader import read_job
from netpart.resources import zoo_folder

NETS = {"resnet18-small": "resnet/resnet18-small.conf", "alexnet-small": "alexnet/alexnet-small.conf"}
WORKERS = 2
STEPS = 1000
"""Steps of a run: as many as have their seconds in its summary."""
RUNS = 3
BATCH = 128
"""Images of a mini-batch: a run of STEPS steps lasts a minute or two, in which some twenty steps are traced."""
BLOCK = 50
SKIPPED = 15
"""Steps at the start of a block that do not count: a step is asked for up to so many steps ahead."""
GOAL = 0.005
READER = "import sys, urllib.request; f = urllib.request.urlopen(sys.argv[1])\nwhile f.read1(65536): pass"


class Moment(NamedTuple):
    """A moment of a run: the step, the time, and the processor seconds of the coordinator's process and of all."""

    step: int
    time: float
    coordinator: float
    everyone: float


@dataclass
class Watching:
    """What was noted in one run: moments at which blocks began, of which every other one is watched; traced steps."""

    moments: list[Moment] = field(default_factory=list)
    traced: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def note(self, step: int) -> bool:
        """Note the time at ``step``; return whether its block is watched."""
        block = step // BLOCK
        if not self.moments or self.moments[-1].step // BLOCK != block:
            self.moments.append(Moment(step, monotonic(), process_time(), tree_seconds(os.getpid())))
        return block % 2 == 0

    def spans(self, watched: bool) -> list[tuple[Moment, Moment]]:
        """Begin and end of blocks, without those of the first pair, which warm up."""
        spans = list(pairwise(self.moments))[2:]
        return [(begin, end) for begin, end in spans if (begin.step // BLOCK % 2 == 0) == watched]

    def share(self, watched: bool) -> float:
        """Cores that the coordinator's process used."""
        spans = self.spans(watched)
        return sum(b.coordinator - a.coordinator for a, b in spans) / sum(b.time - a.time for a, b in spans)

    def processor_ratios(self) -> list[float]:
        """Processor seconds of a watched step over those of a step of the next block, minus 1."""
        means = [[(b.everyone - a.everyone) / (b.step - a.step) for a, b in self.spans(each)] for each in (True, False)]
        return [on / off - 1 for on, off in zip(*means, strict=False)]

    def step_ratios(self) -> list[float]:
        """Seconds of a watched step over those of a step of the next block, minus 1."""
        starts = range(0, len(self.seconds) - BLOCK + 1, BLOCK)
        means = [mean(self.seconds[start + SKIPPED : start + BLOCK]) for start in starts][2:]
        return [on / off - 1 for on, off in zip(means[::2], means[1::2], strict=False)]

    def watched_seconds(self) -> list[float]:
        """The seconds of all watched steps."""
        return [second for step, second in enumerate(self.seconds) if step >= 2 * BLOCK and step // BLOCK % 2 == 0]

    def longer_seconds(self) -> list[float]:
        """By how much each traced step is longer than its neighbours."""
        return [
            self.seconds[step] - median(self.seconds[max(0, step - 10) : step + 11])
            for step in self.traced
            if 2 * BLOCK <= step < len(self.seconds)
        ]


def watch_run(path: Path, steps: int, workspace: Path) -> Watching:
    """Run a job with its page; return what was noted."""
    job = read_job(path)
    job.proto.train_steps = steps
    job.proto.neuralnet.layer[0].store_conf.batchsize[:] = [BATCH]
    job.proto.test_freq = job.proto.validate_freq = job.proto.checkpoint_freq = 0
    noted = Watching()

    class AlternatingBook(WatchBook):
        """Watches every other block."""

        def hear_beat(self) -> None:
            if noted.note(max(member.beat.step for member in self.members)):
                super().hear_beat()

    readers: list[subprocess.Popen[bytes]] = []

    def hear(event: object) -> None:
        if isinstance(event, Noticed) and "http://" in event.text:
            url = event.text[event.text.index("http://") :].replace("/?", "/feed?")
            readers.append(subprocess.Popen([sys.executable, "-c", READER, url], stdin=subprocess.DEVNULL))

    with mock.patch.object(conversation, "WatchBook", _noting(AlternatingBook, noted)):
        summary = run_job(job, WORKERS, listener=hear, listeners=["page"], workspace=workspace)
    for reader in readers:
        reader.kill()
        reader.wait()
    noted.seconds = summary.step_seconds
    return noted


def _noting(book: type[WatchBook], noted: Watching) -> Any:
    """``book``, which also notes the steps that were traced."""

    def make(partition: Any, first: int, members: Any, send: Any, listener: Any) -> WatchBook:
        def hear(event: Any) -> None:
            if isinstance(event, StepSampled):
                noted.traced.append(event.step)
            listener(event)

        return book(partition, first, members, send, hear)

    return make


def figures(runs: list[Watching]) -> dict[str, Any]:
    """The figures of some runs of a net."""
    watched = [second for run in runs for second in run.watched_seconds()]
    longer = [seconds for run in runs for seconds in run.longer_seconds()]
    traced = median(longer) * len(longer) / sum(watched)
    process = mean(run.share(True) - run.share(False) for run in runs)
    return {
        "cost": traced + process / WORKERS, "traced": traced, "process": process,
        "traced_steps": len(longer), "step_seconds": mean(watched),
        "step": spread([ratio for run in runs for ratio in run.step_ratios()]),
        "processor": spread([ratio for run in runs for ratio in run.processor_ratios()]),
    }  # fmt: skip


def spread(ratios: list[float]) -> dict[str, Any]:
    """Mean, standard error and median of ``ratios``."""
    rounded = [round(ratio, 4) for ratio in ratios]
    return {"mean": mean(ratios), "error": stdev(ratios) / sqrt(len(ratios)), "median": median(ratios), "all": rounded}


def main() -> int:
    """Measure, print, write the results; 1 if a page costs more than the goal."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.watching", description="the cost of the page of a run")
    parser.add_argument("--nets", nargs="+", choices=NETS, default=list(NETS), metavar="NET", help=", ".join(NETS))
    parser.add_argument("--runs", type=int, default=RUNS, metavar="N", help=f"runs of each net (default: {RUNS})")
    parser.add_argument("--steps", type=int, default=STEPS, metavar="N", help=f"steps of each run, up to {STEPS}")
    add_loaded_option(parser)
    args = parser.parse_args()
    watch = begin_watch("benchmarks.watching", args.loaded)
    found = {}
    for name in args.nets:
        with TemporaryDirectory(prefix="netpart-watching-") as workspace:
            path, steps = zoo_folder() / NETS[name], min(args.steps, STEPS)
            row = found[name] = figures([watch_run(path, steps, Path(workspace)) for _ in range(args.runs)])
        step, processor = row["step"], row["processor"]
        step, processor = row["step"], row["processor"]
        step, processor = row["step"], row["processor"]
        print(
            f"{name}: the page costs {row['cost']:.2%} of the time: {row['traced_steps']} traced steps"
            f" {row['traced']:.3%}, the coordinator {row['process']:+.2%} of one of {WORKERS} cores; all watched steps"
            f" take {step['mean']:+.1%} ± {step['error']:.1%} of {1e3 * row['step_seconds']:.1f} ms, and"
            f" {processor['mean']:+.1%} ± {processor['error']:.1%} of the processor's time",
            flush=True,
        )
    others = {"load_of_others": watch.others(), "goal": GOAL, "nets": found}
    write_report(RESULTS / "watching.json", ("netpart", "numpy", "onednn-cpu-gomp"), others)
    return int(any(row["cost"] > GOAL for row in found.values()))


if __name__ == "__main__":
    sys.exit(main())
