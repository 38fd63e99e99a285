"""The bridges of a GPU: every figure is measured, on an emulated GPU too, and compared with the right goal."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.gpu_bridges import QUICK, rows
from tests.house.tree import ROOT

EMULATOR = ROOT / "tests" / "cuda" / "emulator"


def test_the_goal_is_that_of_a_streamed_message() -> None:
    seconds = {"copy": 1.0, "one way": 4.0, "streamed": 2.0, "round trip": 0.1}
    found = {name: {"bytes": 256 << 20, "seconds": each} for name, each in seconds.items()}
    streamed, alone = rows(found)
    assert streamed.work == "CUDA IPC of 256.0 MiB, streamed"
    assert (streamed.ratio, streamed.missed) == (0.5, True)
    assert (alone.ratio, alone.missed) == (0.25, False)


@pytest.mark.slow
@pytest.mark.thorough
def test_two_processes_on_the_emulated_device(tmp_path: Path) -> None:
    path, environment = tmp_path / "gpu-bridges.json", os.environ | {"PYTHONPATH": str(EMULATOR)}
    call = [sys.executable, "-m", "benchmarks.gpu_bridges", "--quick", "-o", str(path)]
    done = subprocess.run(call, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(path.read_text())
    assert {name: each["bytes"] for name, each in found["bridges"].items()} == {
        "copy": QUICK, "one way": QUICK, "streamed": QUICK, "round trip": 1024,
    }  # fmt: skip
    assert min(each["seconds"] for each in found["bridges"].values()) > 0
    assert found.keys() >= {"gpu", "driver", "versions", "date", "rows"}
