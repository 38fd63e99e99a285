"""The options of --launcher ray: with which others they go, and what is reserved for."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from netpart.cli.main import parse_command_line
from netpart.cli.run_setting import run_setting
from netpart.errors import ConfigError
from netpart.launch import run as launch
from netpart.launch.control.placement import ClusterPlacement
from netpart.launch.teams.meeting import Meeting
from netpart.proto.reader import read_job
from tests.cli.conftest import Netpart
from tests.end2end.running import mlp


def setting(conf: Path, *options: str) -> Any:
    return run_setting(parse_command_line(["run", str(conf), *options]), read_job(conf))


def test_the_placement_of_ray(tmp_path: Path) -> None:
    conf = mlp(tmp_path)
    assert setting(conf, "--launcher", "ray").placement == ClusterPlacement("pack", 600)
    chosen = setting(conf, "--launcher", "ray", "--place", "strict-spread", "--wait", "3")
    assert chosen.placement == ClusterPlacement("strict-spread", 3)
    assert chosen.meeting is None
    assert setting(conf).placement is None


@pytest.mark.parametrize("launcher", [(), ("--launcher", "threads"), ("--launcher", "env")])
def test_place_without_ray(tmp_path: Path, launcher: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError, match="--place: expected --launcher ray, got"):
        setting(mlp(tmp_path), *launcher, "--place", "spread")


@pytest.mark.parametrize("options", [("--listen", "tcp://127.0.0.1:5555"), ("--local", "1"), ("--token-file", "F")])
def test_ray_with_a_meeting(tmp_path: Path, options: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError):
        setting(mlp(tmp_path), "--launcher", "ray", *options)


def test_the_api_refuses_the_same(tmp_path: Path) -> None:
    job = read_job(mlp(tmp_path))
    with pytest.raises(ConfigError, match="--place: expected --launcher ray, got threads"):
        launch.run_job(job, 2, launcher="threads", workspace=tmp_path / "a", placement=ClusterPlacement())
    with pytest.raises(ConfigError, match="--launcher ray: expected a meeting with join"):
        launch.run_job(job, 2, launcher="ray", workspace=tmp_path / "b", meeting=Meeting("tcp://127.0.0.1:5555"))


def test_without_ray_the_extra_is_named(tmp_path: Path, netpart: Netpart, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    answer = netpart("run", mlp(tmp_path), "--launcher", "ray", "--workspace", tmp_path / "run")
    assert answer.code == 2
    assert answer.err.startswith("error: --launcher ray: expected Ray, got ")
    assert answer.err.endswith("`pip install 'netpart[ray]'`\n")


def test_a_number_of_a_gpu_is_refused(tmp_path: Path, netpart: Netpart) -> None:
    answer = netpart("run", mlp(tmp_path), "--launcher", "ray", "--device", "cuda:1", "--workspace", tmp_path / "run")
    assert answer.code == 2
    assert "error: --device: expected cuda, cpu or auto with --launcher ray, got cuda:1; " in answer.err
