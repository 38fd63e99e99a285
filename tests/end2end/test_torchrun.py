"""The real torchrun starts the same `netpart run` twice; the result is that of one command that starts two workers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from netpart.resources import zoo_folder

pytestmark = pytest.mark.peers
TORCHRUN = (sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "--no-python")
NETPART = (sys.executable, "-m", "netpart", "run")
DEADLINE = 120


def train(workspace: Path, *options: str, within: tuple[str, ...] = ()) -> bytes:
    """Trains a job; the bytes of its last checkpoint."""
    command = [
        *within,
        *NETPART,
        str(zoo_folder() / "mlp" / "column-row.conf"),
        "--workspace",
        str(workspace),
        *options,
    ]
    environment = os.environ | {"NETPART_TOKEN": "5" * 32, "OMP_NUM_THREADS": "1"}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=DEADLINE, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return (workspace / "checkpoint" / "step00000100.safetensors").read_bytes()


def test_torchrun_starts_every_worker(tmp_path: Path) -> None:
    launched = train(tmp_path / "torchrun", "--launcher", "env", within=TORCHRUN)
    assert launched == train(tmp_path / "local", "--workers", "2", "--threads", "1")
