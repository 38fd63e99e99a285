"""--scheme optimal: every verb takes the plan of the search, for the devices of the job or of a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from netpart.cli.main import main
from netpart.collectives.network import LinkCost
from netpart.plan.optimal.optimal_scheme import _host_devices
from netpart.plan.timings.host_figures import HostFigures, write_host_figures

DEVICES = """cluster {
  device { name: "fast" count: 1 flops: 1e12 }
  device { name: "slow" count: 1 flops: 1e3 }
}
"""


def test_devices_of_a_file_decide(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A worker that is a thousand million times slower gets nothing to compute."""
    path = tmp_path / "devices.conf"
    path.write_text(DEVICES, encoding="utf-8")
    assert main(["partition", "graphs/mlp/column-row.conf", "--workers", "2", "--override", "--scheme", "optimal",
                 "--devices", str(path), "-o", str(tmp_path / "plan.conf")]) == 0  # fmt: skip
    capsys.readouterr()
    plan = (tmp_path / "plan.conf").read_text(encoding="utf-8")
    assert "scheme" not in plan.split("neuralnet")[1]
    assert main(["check", str(tmp_path / "plan.conf")]) == 0
    shown = capsys.readouterr().out
    assert "0,1" not in shown.split("\nworker")[0]


@pytest.mark.parametrize("verb", ["verify", "draw"])
def test_verbs_take_the_plan(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--format", "txt"] if verb == "draw" else ["--steps", "1"]
    job = "graphs/mlp/column-row.conf"
    assert main([verb, job, "--workers", "2", "--override", "--scheme", "optimal", *options]) == 0
    assert capsys.readouterr().out


def test_kept_figures_of_this_host_decide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the plan of `check` is the plan of `run`."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    write_host_figures(HostFigures(3e9, 4e9, links={"shm": LinkCost(1e-6, 1e-6, 5e9)}))
    _host_devices.cache_clear()
    found = _host_devices(1)
    _host_devices.cache_clear()
    assert (found.speeds, found.devices[0].streaming, found.link.bandwidth) == ([3e9], 4e9, 5e9)
