"""netpart run, held against another run."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

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
    assert "before step 0, starting: --device cuda: expected cupy and a GPU, got no CuPy here; install" in answer.err
    assert "Traceback" not in answer.err
