"""netpart run, held against another run."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from netpart.launch.cores import THREAD_VARIABLES, cores
from tests.cli.conftest import JOB, Netpart


def test_a_run_is_held_against_a_serial_one(tmp_path: Path, netpart: Netpart) -> None:
    job, one = tmp_path / "job.conf", tmp_path / "one.json"
    confusion = 'layer { name: "table" type: kConfusion srclayers: ["ip", "data"] include: kTest }\n}'
    job.write_text(f"test_steps: 2\n{JOB.rstrip()[:-1]}{confusion}\n")
    run = "run", job, "--launcher", "threads", "--workspace", tmp_path / "out"
    assert netpart(*run, "--summary", one).code == 0
    summary = json.loads(one.read_text())
    table = summary["tables"]["table/confusion"]
    assert sum(map(sum, table)) == 16
    assert summary["test"]["table/accuracy"] == summary["accuracies"][-1][1]
    answer = netpart(*run, "--workers", 2, "--against", one, "--reach", 0)
    assert answer.code == 0
    assert "table/confusion of the test: rows are classes" in answer.out
    assert "  speed-up  " in answer.out
    assert netpart(*run, "--against", tmp_path / "absent.json").code == 1
    assert netpart(*run, "--reach", 2).code == 2


def test_a_run_that_fails_says_where_resume_goes_on(tmp_path: Path, netpart: Netpart) -> None:
    job, diverging = tmp_path / "job.conf", "updater.learning_rate.base_lr=1e38"
    job.write_text(JOB)
    every = "--set", "disp_freq=1", "--set", "checkpoint_freq=1", "--steps", 9
    answer = netpart("run", job, "--launcher", "threads", "--workspace", tmp_path / "out", "--set", diverging, *every)
    error, note = answer.err.splitlines()
    assert (answer.code, error[:7]) == (1, "error: ")
    assert note.startswith(f"the latest checkpoint is {tmp_path}/out/checkpoint/step0000")
    assert note.endswith(".safetensors, --resume goes on from it")


def test_more_threads_than_cores_are_told(tmp_path: Path, netpart: Netpart, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in THREAD_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    job, has = tmp_path / "job.conf", cores()
    job.write_text(JOB)
    run = "run", job, "--workspace", tmp_path / "out"
    few = f"too many for the {has} core{'s' * (has > 1)} of worker 0: use --threads {has}; batch"
    assert f"{has + 1} threads, {few}" in netpart(*run, "--threads", has + 1).out
    assert "too many" not in netpart(*run, "--threads", has).out
    monkeypatch.setenv("OMP_NUM_THREADS", "banana")
    answer = netpart(*run)
    wrong = "error: OMP_NUM_THREADS: expected a number from 1, got 'banana'; unset it, or write --threads N\n"
    assert (answer.code, answer.err) == (2, wrong)


def test_workers_without_the_gpu_that_was_asked_for_say_so_in_a_line(
    tmp_path: Path, netpart: Netpart, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even before they have a transport, which for GPUs is on the GPU."""
    (tmp_path / "cupy.py").write_text("raise ImportError('no CuPy here')\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]))
    job = tmp_path / "job.conf"
    job.write_text(JOB)
    answer = netpart("run", job, "--workers", 2, "--device", "cuda", "--workspace", tmp_path / "out")
    assert answer.code == 1
    assert "before step 0, starting: --device cuda: expected cupy and a GPU, got no CuPy here; in a clone" in answer.err
    assert "Traceback" not in answer.err
