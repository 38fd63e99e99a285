"""workers/mpi.hosts is a place to run: its own first line does, on this host, what local workers do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from netpart.cli.main import main
from netpart.launch.teams import hostfile
from netpart.resources import resource_folder
from tests.end2end.running import mlp

FILE = resource_folder("workers") / "mpi.hosts"


def test_it_names_this_host() -> None:
    assert hostfile.read_hostfile(FILE) == ["localhost"]
    assert hostfile.remote_control_address(FILE) == "tcp://127.0.0.1:*"


@pytest.mark.slow
def test_its_command_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    command = re.search(r"netpart (run .*)$", FILE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert command is not None
    _, _, *options = command[1].split()
    options[options.index("workers/mpi.hosts")] = str(FILE)
    for name, chosen in (("mpi", options), ("local", ["--workers", "4"])):
        conf = mlp(tmp_path, name)
        assert main(["run", str(conf), *chosen, "--workspace", str(tmp_path / "out" / name)]) == 0
    assert "as predicted" in capsys.readouterr().out
    ours, theirs = (tmp_path / "out" / name / "checkpoint" / "step00000012.safetensors" for name in ("mpi", "local"))
    assert ours.read_bytes() == theirs.read_bytes()
