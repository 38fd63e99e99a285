"""The exit code of workers/slurm.sbatch, and when it asks for a requeue, with a stand-in for the tasks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from netpart.resources import resource_folder

SCRIPT = resource_folder("workers") / "slurm.sbatch"
TASKS = f"""#!{sys.executable}
import os, signal
signal.signal(signal.SIGUSR1, lambda *_: os._exit(CODE))
print("started", flush=True)
while True:
    signal.pause()
"""
SLOW = """
kill() {
  builtin kill "$@" || return
  [ "$1" = -0 ] || while builtin kill -0 "$2" 2>/dev/null; do /bin/true; done
}
"""
"""Makes the tasks end while the script still handles the signal."""


@pytest.mark.parametrize(("code", "ends"), [(0, 0), (1, 1), (75, 0), (143, 0)])
def test_a_job_that_ends_at_the_signal_goes_back_to_the_queue_only_if_it_was_halted(
    tmp_path: Path, code: int, ends: int
) -> None:
    """Not if it is complete, or has failed."""
    files = {"scontrol": '#!/bin/sh\necho "asked to $1 job $2"\n', "tasks": TASKS.replace("CODE", str(code))}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    (tmp_path / "slow").write_text(SLOW)
    batch = {
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "SLURM_JOB_ID": "4217", "NETPART_STARTER": "tasks",
        "BASH_ENV": str(tmp_path / "slow"),
    }  # fmt: skip
    with subprocess.Popen([str(SCRIPT), "job.conf"], env=os.environ | batch, stdout=subprocess.PIPE, text=True) as job:
        assert job.stdout is not None
        assert job.stdout.readline() == "started\n"
        job.send_signal(signal.SIGUSR1)
        said, _ = job.communicate(timeout=60)
    assert job.returncode == ends
    assert said == ("asked to requeue job 4217\n" if code in (75, 143) else "")


@pytest.mark.parametrize(
    ("code", "made", "options", "requeued"),
    [
        (75, "0", ("--restarts", "2"), True),  # netpart: it may succeed
        (137, "1", ("--restarts=2",), True),  # a task was killed, task 0 perhaps
        (75, "2", ("--restarts", "2"), False),  # all are used
        (1, "0", ("--restarts", "2"), False),  # an error of the job
        (2, "0", ("--restarts", "2"), False),
        (0, "0", ("--restarts", "2"), False),
        (137, "0", (), False),
        (75, "0", ("--workspace", "2"), False),
    ],
)
def test_a_run_that_fails_goes_back_to_the_queue_with_restarts(
    tmp_path: Path, code: int, made: str, options: tuple[str, ...], requeued: bool
) -> None:
    files = {"scontrol": '#!/bin/sh\necho "asked to $1 job $2"\n', "tasks": f'#!/bin/sh\necho "$@"\nexit {code}\n'}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    batch = {
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "SLURM_JOB_ID": "4217", "NETPART_STARTER": "tasks",
        "SLURM_RESTART_COUNT": made,
    }  # fmt: skip
    job = subprocess.run(
        [str(SCRIPT), "job.conf", *options], env=os.environ | batch, stdout=subprocess.PIPE, text=True, timeout=60
    )
    first, *rest = job.stdout.splitlines()
    assert ("--resume" in first) == (made != "0")
    assert rest == (["asked to requeue job 4217"] if requeued else [])
    assert job.returncode == (0 if requeued else code)


SRUN = """#!/bin/bash
while [[ $1 == --* ]]; do echo "$1" >> "$0.options"; shift; done
worst=0
for rank in 0 1; do
  SLURM_PROCID=$rank "$@" || { code=$?; (( code > worst )) && worst=$code; }
done
exit $worst
"""
"""srun with two tasks: it ends with their highest exit code."""


@pytest.mark.parametrize(
    ("code", "options", "ends", "requeued"),
    [
        (0, ("--elastic", "1..2"), 0, False),
        (1, ("--elastic=1..2",), 1, False),
        (0, ("--elastic", "1..2", "--restarts", "2"), 0, False),
        (75, ("--elastic", "1..2", "--restarts", "2"), 0, True),
        (75, ("--elastic", "1..2"), 75, False),
        (0, (), 137, False),
    ],
)
def test_an_elastic_run_ends_as_task_0_and_not_as_a_lost_one(
    tmp_path: Path, code: int, options: tuple[str, ...], ends: int, requeued: bool
) -> None:
    """Task 1 is killed."""
    files = {
        "scontrol": '#!/bin/sh\necho "asked to $1 job $2"\n', "srun": SRUN,
        "netpart": f'#!/bin/sh\n[ "$SLURM_PROCID" = 0 ] && exit {code}\nkill -KILL $$\n',
    }  # fmt: skip
    for name, text in files.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    (tmp_path / "tmp").mkdir()
    batch = {
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "SLURM_JOB_ID": "4217", "TMPDIR": f"{tmp_path}/tmp",
    }  # fmt: skip
    job = subprocess.run(
        [str(SCRIPT), "job.conf", *options], env=os.environ | batch, stdout=subprocess.PIPE, text=True, timeout=60
    )
    assert job.returncode == ends
    assert job.stdout.splitlines() == (["asked to requeue job 4217"] if requeued else [])
    assert not list((tmp_path / "tmp").iterdir())
    lives = {"--no-kill", "--kill-on-bad-exit=0", "--wait=0"}
    assert (lives == set((tmp_path / "srun.options").read_text().split())) == bool(options)
