"""What a page that shows a run costs the run's steps.

python -m benchmarks.watching           two nets on two workers; benchmarks/results/watching.json
python -m benchmarks.watching --steps 600 --nets resnet18-small

Within one run, blocks of steps that are watched alternate with blocks in which no worker is asked for a step and no
event is told. A process reads the feed all the time. Three figures, of which the first includes the others and is the
least certain, as the speed of a machine changes by more from one second to the next:

step       seconds of a watched step over those of a step of the next block, over all pairs, with the standard error
traced     seconds by which the steps that were traced are longer than their neighbours, as a share of the watched time
process    processor time of the coordinator's process in watched blocks minus that in the others, as a share of a core
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from dataclasses import dataclass, field
from math import sqrt
from pathlib import Path
from statistics import mean, median, stdev
from tempfile import TemporaryDirectory
from time import monotonic, process_time
from typing import Any
from unittest import mock

from benchmarks.load import add_loaded_option, begin_watch
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
BLOCK = 100
SKIPPED = 40
"""Steps at the start of a block that do not count: a step is asked for up to so many steps ahead."""
GOAL = 0.005
READER = "import sys, urllib.request; f = urllib.request.urlopen(sys.argv[1])\nwhile f.read1(65536): pass"


@dataclass
class Watching:
    """What was noted in one run: processor and elapsed seconds of blocks, by whether they are watched; traced steps."""

    process: dict[bool, list[tuple[float, float]]] = field(default_factory=lambda: {True: [], False: []})
    traced: list[int] = field(default_factory=list)
    begun: tuple[int, float, float] | None = None

    def note(self, step: int) -> bool:
        """Note the time at ``step``; return whether its block is watched."""
        block, now, used = step // BLOCK, monotonic(), process_time()
        if self.begun is None or self.begun[0] != block:
            if self.begun is not None:
                self.process[self.begun[0] % 2 == 0].append((used - self.begun[2], now - self.begun[1]))
            self.begun = block, now, used
        return block % 2 == 0

    def share(self, watched: bool) -> float:
        """Cores that the coordinator's process used."""
        return sum(used for used, _ in self.process[watched]) / sum(wall for _, wall in self.process[watched])


def watch_run(path: Path, steps: int, workspace: Path) -> tuple[Watching, list[float]]:
    """Run a job with its page; return what was noted, and the seconds of its steps."""
    job = read_job(path)
    job.proto.train_steps = steps
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
    return noted, summary.step_seconds


def _noting(book: type[WatchBook], noted: Watching) -> Any:
    """``book``, which also notes the steps that were traced."""

    def make(partition: Any, first: int, members: Any, send: Any, listener: Any) -> WatchBook:
        def hear(event: Any) -> None:
            if isinstance(event, StepSampled):
                noted.traced.append(event.step)
            listener(event)

        return book(partition, first, members, send, hear)

    return make


def block_means(seconds: list[float]) -> list[float]:
    """The mean of each block, without its first steps."""
    blocks = [seconds[start + SKIPPED : start + BLOCK] for start in range(0, len(seconds) - BLOCK + 1, BLOCK)]
    return [mean(block) for block in blocks]


def figures(noted: Watching, seconds: list[float]) -> dict[str, Any]:
    """The three figures of a run."""
    means = block_means(seconds)
    ratios = [on / off - 1 for on, off in zip(means[::2], means[1::2], strict=False)][1:]  # the first pair warms up
    watched = [each for block in range(2, len(means), 2) for each in seconds[block * BLOCK : (block + 1) * BLOCK]]
    traced = [
        seconds[step] - median(seconds[max(0, step - 10) : step + 11])
        for step in noted.traced
        if 2 * BLOCK <= step < len(seconds)
    ]
    return {
        "step": median(ratios), "step_mean": mean(ratios), "step_error": stdev(ratios) / sqrt(len(ratios)),
        "ratios": [round(ratio, 4) for ratio in ratios],
        "traced": sum(traced) / sum(watched), "traced_steps": len(traced), "step_seconds": mean(watched),
        "process": noted.share(True) - noted.share(False), "process_watched": noted.share(True),
    }  # fmt: skip


def main() -> int:
    """Measure, print, write the results; 1 if a page costs more than the goal by what can be told for certain."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.watching", description="the cost of the page of a run")
    parser.add_argument("--nets", nargs="+", choices=NETS, default=list(NETS), metavar="NET", help=", ".join(NETS))
    parser.add_argument("--steps", type=int, default=STEPS, metavar="N", help=f"steps of each run, up to {STEPS}")
    add_loaded_option(parser)
    args = parser.parse_args()
    watch = begin_watch("benchmarks.watching", args.loaded)
    found = {}
    for name in args.nets:
        with TemporaryDirectory(prefix="netpart-watching-") as workspace:
            found[name] = figures(*watch_run(zoo_folder() / NETS[name], min(args.steps, STEPS), Path(workspace)))
        row = found[name]
        print(
            f"{name}: a watched step takes {row['step']:+.2%} (mean {row['step_mean']:+.2%} ± {row['step_error']:.2%})"
            f" of {1e3 * row['step_seconds']:.1f} ms; {row['traced_steps']} traced steps are {row['traced']:.3%} of"
            f" the time, the coordinator {row['process']:+.2%} of a core",
            flush=True,
        )
    others = {"load_of_others": watch.others(), "goal": GOAL, "nets": found}
    write_report(RESULTS / "watching.json", ("netpart", "numpy", "onednn-cpu-gomp"), others)
    return int(any(row["step"] - 2 * row["step_error"] > GOAL for row in found.values()))


if __name__ == "__main__":
    sys.exit(main())
