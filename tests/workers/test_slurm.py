"""A real Slurm runs workers/slurm.sbatch: three tasks, a requeue before the time limit, and the bits of a local run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from netpart.resources import resource_folder
from tests.end2end.slurm import Slurm, missing_slurm, until

pytestmark = [pytest.mark.slurm, pytest.mark.skipif(bool(missing_slurm()), reason=missing_slurm())]
SCRIPT = resource_folder("workers") / "slurm.sbatch"
JOB = resource_folder("graphs") / "mlp" / "column-row.conf"
BIN = Path(sys.executable).parent
STEPS = "--steps=6000"
LAST = "checkpoint/step00006000.safetensors"


def submit(slurm: Slurm, folder: Path, *options: str) -> str:
    """Submit the script for three tasks on the one node; the job's number."""
    size = ("--nodes=1", "--ntasks-per-node=3", "--cpus-per-task=1", f"--output={folder}/job.out", f"--chdir={folder}")
    path = f"--export=ALL,OMP_NUM_THREADS=1,PATH={BIN}:{os.environ['PATH']}"
    run = (str(SCRIPT), str(JOB), STEPS, f"--workspace={folder}/out")
    return slurm.call("sbatch", "--parsable", *size, path, *options, *run).strip()


def said(folder: Path) -> str:
    """What the job has written so far."""
    file = folder / "job.out"
    return file.read_text() if file.exists() else ""


def test_a_job_is_requeued_once_and_goes_on_to_the_same_bits(tmp_path: Path) -> None:
    with Slurm(tmp_path / "slurm") as slurm:
        job = submit(slurm, tmp_path)
        until(lambda: "Train @" in said(tmp_path), f"the job trains; it wrote {said(tmp_path)}")
        slurm.call("scancel", "--batch", "--signal=USR1", job)
        until(lambda: "Ends @ step" in said(tmp_path), "the run saves a checkpoint and ends")
        until(lambda: slurm.state(job) == "COMPLETED", "the job has run again")
        wrote = said(tmp_path)
    assert wrote.count("SIGUSR1 asked for a checkpoint") == 2, wrote  # the event, and the summary
    assert "steps from step" in wrote
    local = (sys.executable, "-m", "netpart", "run", str(JOB), STEPS, "--workers=3", "--threads=1")
    subprocess.run([*local, f"--workspace={tmp_path}/local"], check=True, capture_output=True, timeout=300)
    assert (tmp_path / "out" / LAST).read_bytes() == (tmp_path / "local" / LAST).read_bytes()


def test_slurm_signals_before_the_time_limit(tmp_path: Path) -> None:
    """The least time limit is a minute; with the signal 50 seconds before it the job is soon asked to end."""
    with Slurm(tmp_path / "slurm") as slurm:
        job = submit(slurm, tmp_path, "--time=1", "--signal=B:USR1@50", "--begin=now")
        until(lambda: "Ends @ step" in said(tmp_path) or slurm.state(job) == "COMPLETED", "Slurm has sent the signal")
        assert "Ends @ step" in said(tmp_path)
