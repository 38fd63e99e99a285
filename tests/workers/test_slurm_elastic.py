"""A real Slurm: an elastic run loses a task, or a node, and workers of another step and of another job take part."""

from __future__ import annotations

import json
import os
import re
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from netpart.launch.run import run_job
from netpart.proto.reader import read_job
from netpart.resources import resource_folder
from tests.end2end.slurm import DEADLINE, Slurm, all_processes, environment_of, missing_slurm, until
from tests.launch.elastic.losses import check_equal
from tools.fault_jobs import LENET

pytestmark = [pytest.mark.slurm, pytest.mark.skipif(bool(missing_slurm()), reason=missing_slurm())]
SCRIPT = resource_folder("workers") / "slurm.sbatch"
BIN = Path(sys.executable).parent
NETPART = str(BIN / "netpart")
STEPS, FREQ = 2000, 500
SETTINGS = (
    f"train_steps={STEPS}", "disp_freq=10", "dtype=FLOAT64", "device=CPU", "neuralnet.scheme=DATA",
    f"checkpoint_freq={FREQ}", "neuralnet.remainder=SPREAD", "updater.learning_rate.base_lr=0.0001",
)  # fmt: skip
"""So many steps that workers come in time; at a small rate, rounding does not grow over them."""


class ElasticJob:
    """A job of Slurm with three tasks, on one node or on one each, for two to four workers, in ``folder``."""

    def __init__(self, slurm: Slurm, folder: Path) -> None:
        self.slurm, self.folder = slurm, folder
        self.conf, self.token, self.out = (folder / name for name in ("job.conf", "token", "job.out"))
        self.conf.write_text(LENET)
        self.token.touch(0o600)
        self.token.write_text(secrets.token_hex(16))
        nodes = len(slurm.names)
        size = (f"--nodes={nodes}", f"--ntasks-per-node={3 // nodes}", "--cpus-per-task=1")
        files = (f"--output={self.out}", f"--chdir={folder}")
        environment = f"--export=ALL,OMP_NUM_THREADS=1,PATH={BIN}:{os.environ['PATH']}"
        elastic = ("--elastic=2..4", f"--token-file={self.token}", f"--workspace={folder}/run")
        settings = [f"--set={setting}" for setting in SETTINGS]
        run = (str(SCRIPT), str(self.conf), *elastic, *settings)
        self.number = slurm.call("sbatch", "--parsable", "--no-kill", *size, *files, environment, *run).strip()

    def said(self) -> str:
        """What the job has written so far."""
        return self.out.read_text() if self.out.exists() else ""

    def kill_task(self, rank: int) -> None:
        """Kill the processes of a task of the first step."""
        wanted = {f"SLURM_JOB_ID={self.number}", f"SLURM_PROCID={rank}", "SLURM_STEP_ID=0"}
        found = [pid for pid in all_processes() if wanted <= environment_of(pid)]
        assert found, "no process of the task"
        for pid in found:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    @contextmanager
    def joining(self, *options: str) -> Iterator[subprocess.Popen[str]]:
        """One more worker, by srun with ``options``."""
        (address,) = set(re.findall(r"joined (tcp://[\d.:]+),", self.said()))
        worker = (NETPART, "worker", "--join", address, "--token-file", str(self.token), "--threads", "1")
        command = ["srun", *options, "--nodes=1", "--ntasks=1", *worker]
        process = subprocess.Popen(
            command, env=self.slurm.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        try:
            yield process
        finally:
            process.terminate()
            process.communicate()

    def changes(self) -> list[dict[str, Any]]:
        """The changes that metrics.jsonl has."""
        file = self.folder / "run" / "metrics.jsonl"
        lines = file.read_text().splitlines() if file.exists() else []
        return [line for line in map(json.loads, lines) if "change" in line]

    def check_parameters(self) -> None:
        """Raise AssertionError unless the parameters are those of one worker that nothing happened to."""
        expected = self.folder / "expected"
        run_job(read_job(self.conf, SETTINGS), 1, launcher="threads", workspace=expected)
        check_equal(self.folder / "run", expected, STEPS)


def test_workers_of_other_steps_and_jobs_take_the_place_of_a_lost_task(tmp_path: Path) -> None:
    with Slurm(tmp_path / "slurm") as slurm:
        job = ElasticJob(slurm, tmp_path)
        until(lambda: "Train @" in job.said(), f"the job trains; it wrote {job.said()}")
        job.kill_task(2)
        with job.joining(f"--jobid={job.number}", "--overlap") as step, job.joining("--cpus-per-task=1") as other:
            until(lambda: slurm.state(job.number) in ("COMPLETED", "FAILED"), f"the job ends; it wrote {job.said()}")
            ends = [process.communicate(timeout=DEADLINE)[0] for process in (step, other)]
            assert (step.returncode, other.returncode) == (0, 0), ends
        state = slurm.state(job.number)
    assert state == "COMPLETED", job.said()
    changes = job.changes()
    assert len(changes[0]["lost"]) == 1
    assert sum(len(change["joined"]) for change in changes) == 2
    assert changes[-1]["workers"] == 4
    job.check_parameters()


def test_a_run_goes_on_without_a_lost_node(tmp_path: Path) -> None:
    with Slurm(tmp_path / "slurm", nodes=3) as slurm:
        job = ElasticJob(slurm, tmp_path)
        until(lambda: "Train @" in job.said(), f"the job trains; it wrote {job.said()}")
        slurm.lose_node("node2")
        until(lambda: slurm.state(job.number) in ("COMPLETED", "FAILED"), f"the job ends; it wrote {job.said()}")
        state, nodes = slurm.state(job.number), slurm.node_states()
    assert state == "COMPLETED", job.said()
    assert nodes["node2"].startswith("down"), nodes
    (change,) = job.changes()
    assert (len(change["lost"]), change["workers"]) == (1, 2)
    job.check_parameters()


def test_a_job_that_has_lost_its_coordinator_resumes_when_it_is_requeued(tmp_path: Path) -> None:
    with Slurm(tmp_path / "slurm", nodes=3) as slurm:
        job = ElasticJob(slurm, tmp_path)
        until((tmp_path / "run" / "checkpoint" / f"step{FREQ:08}.updater").exists, f"a checkpoint; {job.said()}")
        slurm.lose_node("node0")
        until(lambda: slurm.node_states()["node0"].startswith("down"), "Slurm knows that the node is lost")
        assert slurm.state(job.number) == "RUNNING"  # without its script: such is --no-kill
        slurm.start_node("node0")
        until(lambda: not slurm.node_states()["node0"].startswith("down"), "the node is back")
        slurm.call("scontrol", "requeue", job.number)
        until(lambda: slurm.state(job.number) in ("COMPLETED", "FAILED"), f"the job ends; it wrote {job.said()}")
        state = slurm.state(job.number)
    assert state == "COMPLETED", job.said()
    assert f"from step {FREQ}" in job.said()
    job.check_parameters()
