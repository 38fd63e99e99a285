"""Accuracy of the use case: 3D-ResAttNet trained on the cohort of phantoms and tested, by netpart and by PyTorch.

Every training begins with the same weights and sees the same scans, mirrored alike, in the same order, at the same
learning rates. A training for pMCI against sMCI begins with the net trained for AD against NC, as scans of MCI are
harder.

The values of a step do not depend on the number of workers, but on the number of rows that are normalised together: all
of the mini-batch, those of a micro-batch, or those of a worker if each normalises its own. So one worker computes the
same as any number: it takes the mini-batch in as many micro-batches as there are such shares of its rows.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path

from google.protobuf import text_format

from benchmarks.figures import NETPART, PYTORCH, Trained
from benchmarks.machine import ROOT, environment
from benchmarks.nets import Net
from netpart.data.scans.scan_table import read_scan_table
from netpart.launch.report.events import Summary
from netpart.launch.report.speedup import read_summary
from netpart.proto.job_pb2 import JobProto
from netpart.proto.reader import read_job

TEST_ROWS = 10
"""Scans of a mini-batch of a test."""


@dataclass(frozen=True)
class Task:
    """Two classes to distinguish. ``table`` begins the names of the tables of their scans. ``rate`` is the first
    learning rate. ``after`` is the task whose trained net is the start ("": none)."""

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
class School:
    """Trains nets on the scans of ``data``, in ``folder``, for ``epochs`` (None: those of each task)."""

    data: Path
    folder: Path
    epochs: int | None = None

    def trained(self, net: Net, tasks: Sequence[Task], who: str, rows: int) -> Iterator[Trained]:
        """Yield the trainings of ``net`` for ``tasks`` and those that they start from, in the order of TASKS."""
        wanted = {name for task in tasks for name in (task.name, task.after)}
        learned = dict[str, str]()
        for task in TASKS.values():
            if task.name in wanted:
                own = self.folder / f"{net.name}-{task.name}-{who}-{rows}"
                proto = self.job(net, task, rows, learned.get(task.after, ""))
                summary = self.run(who, own, proto)
                learned[task.name] = summary.checkpoint
                found = {step // proto.test_freq: accuracy for step, accuracy in summary.accuracies if step}
                yield Trained(net.name, task.name, who, rows, [found[epoch] for epoch in sorted(found)])

    def job(self, net: Net, task: Task, rows: int, start: str) -> JobProto:
        """The job of a training, tested after each epoch."""
        train, test = (self.data / f"{task.table}-{split}.csv" for split in ("train", "test"))
        proto = read_job(ROOT / "graphs" / "resattnet" / f"{net.name}-{task.table}.conf").proto
        tables = {True: train, False: test}
        inputs = [layer for layer in proto.neuralnet.layer if layer.HasField("nifti_conf")]
        for first, layer in zip((True, False), inputs, strict=True):
            layer.nifti_conf.path = str(tables[first].resolve())
        steps = steps_per_epoch(train, net.batch)
        proto.train_steps = steps * (self.epochs or task.epochs)
        proto.test_freq, proto.test_steps = steps, ceil(len(read_scan_table(test)) / TEST_ROWS)
        rate = proto.updater.learning_rate
        rate.base_lr, rate.linear_conf.final_lr = task.rate, task.rate / 100
        rate.linear_conf.change_freq = proto.train_steps
        proto.neuralnet.micro_batches = net.batch // rows
        proto.num_openblas_threads = 1
        proto.checkpoint_path[:] = [start] if start else []
        return proto

    def run(self, who: str, folder: Path, proto: JobProto) -> Summary:
        """Train on one thread; raises RuntimeError, with the output of the command, if that fails."""
        folder.mkdir(parents=True)
        job, summary = folder / "job.conf", folder / "summary.json"
        job.write_text(text_format.MessageToString(proto), encoding="utf-8")
        calls = {
            NETPART: ["netpart", "run", job, "--workers", 1, "--workspace", folder / "out", "--summary", summary],
            PYTORCH: ["benchmarks.peers.torch_learner", job, summary, 1],
        }
        call = [sys.executable, "-m", *map(str, calls[who])]
        done = subprocess.run(call, env=environment(1), cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{' '.join(call)}: exit code {done.returncode}: {done.stderr}")
        return read_summary(summary)


def steps_per_epoch(table: Path, rows: int) -> int:
    """Mini-batches of ``rows`` rows in a table of scans."""
    return ceil(len(read_scan_table(table)) / rows)
