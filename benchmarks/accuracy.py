"""Accuracy of the use case: 3D-ResAttNet trained on the cohort of phantoms and tested, by netpart and by PyTorch.

Whoever trains begins with the same weights and sees the same scans, mirrored alike, in the same order, at the same
learning rates; for pMCI against sMCI it begins with what it has learned of AD against NC, as scans of MCI are harder.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from math import ceil
from pathlib import Path

from google.protobuf import text_format

from benchmarks.machine import ROOT, environment
from benchmarks.rows import CORES
from netpart.data.scans import read_table
from netpart.launch.events import Summary
from netpart.launch.speedup import epochs_to, read_summary
from netpart.proto.job_pb2 import JobProto
from netpart.proto.reader import load

TEST_ROWS = 10
"""Scans of a mini-batch of a test."""
NETPART, PYTORCH = "netpart", "PyTorch"
THREADS = {NETPART: 1, PYTORCH: CORES}
"""Trainings of netpart have a core each: several at a time are sooner done than one on all cores after the other."""


@dataclass(frozen=True)
class Task:
    """Two classes to be told apart. ``table`` begins the names of the tables of their scans; ``rate`` is the learning
    rate at first; ``after`` the task whose net is gone on with ("": none)."""

    name: str
    title: str
    table: str
    epochs: int
    rate: float
    after: str = ""


TASKS = {
    task.name: task
    for task in (
        Task("ad", "AD against NC", "ad-nc", 12, 0.02),
        Task("mci", "pMCI against sMCI", "smci-pmci", 6, 0.01, after="ad"),
    )
}


@dataclass(frozen=True)
class Trained:
    """What came out of a training: the share of test scans named right at its end, and epochs until a test had the
    accuracy to be reached (None: no test had). Of netpart it holds for any number of workers, to rounding."""

    net: str
    task: str
    who: str
    micro_batches: int
    epochs: int
    accuracy: float
    epochs_to_reach: float | None


@dataclass(frozen=True)
class School:
    """Trains nets on the scans of ``data``, in ``folder``, for ``epochs`` (None: those of each task)."""

    data: Path
    folder: Path
    reach: float
    epochs: int | None = None

    def by_netpart(self, net: str, tasks: Sequence[Task], micro_batches: Sequence[int]) -> list[Trained]:
        """The trainings of ``net`` for each of the numbers of micro-batches, as many at a time as there are cores."""
        with ThreadPoolExecutor(CORES) as cores:
            found = [cores.submit(self.trained, net, tasks, NETPART, pieces) for pieces in micro_batches]
            return [trained for each in found for trained in each.result()]

    def trained(self, net: str, tasks: Sequence[Task], who: str, micro_batches: int = 1) -> list[Trained]:
        """The trainings of ``net`` for ``tasks``, in the order of TASKS, and for those that they go on from."""
        wanted = {name for task in tasks for name in (task.name, task.after)}
        found, learned = list[Trained](), dict[str, str]()
        for task in TASKS.values():
            if task.name in wanted:
                own = self.folder / f"{net}-{task.name}-{who}-{micro_batches}"
                summary = self.run(who, own, self.job(net, task, micro_batches, learned.get(task.after, "")))
                learned[task.name] = summary.checkpoint
                found.append(self.judged(net, task, who, micro_batches, summary))
                print(f"{net}, {task.title}, {who}: {found[-1].accuracy:.1%}", flush=True)
        return found

    def judged(self, net: str, task: Task, who: str, micro_batches: int, summary: Summary) -> Trained:
        """A training by its summary."""
        assert summary.accuracies, "the end of a training is a test"
        reached, last = epochs_to(summary, self.reach), summary.accuracies[-1][1]
        return Trained(net, task.name, who, micro_batches, self.epochs or task.epochs, last, reached)

    def job(self, net: str, task: Task, micro_batches: int, start: str) -> JobProto:
        """The job of a training, tested after each epoch."""
        train, test = (self.data / f"{task.table}-{split}.csv" for split in ("train", "test"))
        proto = load(ROOT / "graphs" / "resattnet" / f"{net}-{task.table}.conf").proto
        tables = {True: train, False: test}
        inputs = [layer for layer in proto.neuralnet.layer if layer.HasField("nifti_conf")]
        for first, layer in zip((True, False), inputs, strict=True):
            layer.nifti_conf.path = str(tables[first].resolve())
        steps = steps_per_epoch(train, inputs[0].nifti_conf.batchsize[0])
        proto.train_steps = steps * (self.epochs or task.epochs)
        proto.test_freq, proto.test_steps = steps, ceil(len(read_table(test)) / TEST_ROWS)
        rate = proto.updater.learning_rate
        rate.base_lr, rate.linear_conf.final_lr = task.rate, task.rate / 100
        rate.linear_conf.change_freq = proto.train_steps
        proto.neuralnet.micro_batches = micro_batches
        proto.checkpoint_path[:] = [start] if start else []
        return proto

    def run(self, who: str, folder: Path, proto: JobProto) -> Summary:
        """Trains; raises RuntimeError, with what was said, if that fails."""
        folder.mkdir(parents=True)
        job, summary = folder / "job.conf", folder / "summary.json"
        job.write_text(text_format.MessageToString(proto), encoding="utf-8")
        calls = {
            NETPART: ["netpart", "run", job, "--workers", 1, "--workspace", folder / "out", "--summary", summary],
            PYTORCH: ["benchmarks.peers.torch_learner", job, summary, CORES],
        }
        call = [sys.executable, "-m", *map(str, calls[who])]
        done = subprocess.run(
            call, env=environment(THREADS[who]), cwd=ROOT, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(f"{' '.join(call)}: exit code {done.returncode}: {done.stderr}")
        return read_summary(summary)


def steps_per_epoch(table: Path, rows: int) -> int:
    """Mini-batches of ``rows`` rows in a table of scans."""
    return ceil(len(read_table(table)) / rows)


def as_json(trained: Sequence[Trained]) -> list[dict[str, object]]:
    """As it is written."""
    return [asdict(one) for one in trained]
