"""Ray on hosts with addresses of their own: `ray start` on each, then `netpart run` or `ray job submit` on one."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from time import monotonic

import pytest

from tests.end2end.hosts import network
from tests.end2end.ray_hosts import LONG, RAY, RayHosts
from tests.end2end.ray_runs import losses
from tests.end2end.running import SOON, mlp
from tests.end2end.test_join import ENDLESS, NETPART, check_the_same

__all__ = ["network"]
pytestmark = [pytest.mark.peers, pytest.mark.alone, pytest.mark.usefixtures("network")]


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[RayHosts]:
    with RayHosts(3, tmp_path) as hosts:
        yield hosts


def launch(conf: Path, *options: str) -> list[str]:
    """The command of a run of three workers on three nodes."""
    given = ("--launcher", "ray", "--workers", "3", "--place", "strict-spread", "--workspace", str(conf.parent / "run"))
    return [*NETPART, "run", str(conf), *given, *options]


def test_three_hosts_train_what_one_trains(hosts: RayHosts, tmp_path: Path) -> None:
    hosts.start_ray("--include-dashboard", "false")
    conf, summary = mlp(tmp_path), tmp_path / "summary.json"
    run = hosts.play(0, *launch(conf, "--summary", str(summary)))
    run.until(r"the coordinator listens at tcp://10\.77\.0\.1:\d+; worker ", LONG)
    assert run.end(LONG) == 0, run.lines
    joined = re.findall(r"worker \d joined \(node (10\.77\.0\.\d) ", "".join(run.lines))
    assert sorted(joined) == hosts.addresses
    check_the_same(conf, 3, tmp_path / "run", summary)
    assert losses(tmp_path / "run") == losses(tmp_path / "local")


def test_a_link_that_breaks(hosts: RayHosts, tmp_path: Path) -> None:
    """The run ends before Ray knows; the worker that is cut off ends by itself."""
    hosts.start_ray("--include-dashboard", "false")
    run = hosts.play(0, *launch(mlp(tmp_path, train_steps=ENDLESS, checkpoint_freq=0, test_freq=0, disp_freq=100)))
    run.until(r"^Train @ step 600 ", LONG)
    hosts.cut(2)
    began = monotonic()
    message = run.until("^error: ", SOON)
    assert re.match(
        r"error: worker \d \(node 10\.77\.0\.3 .*process \d+\): .*, last heard in train step \d+, \S+", message
    )
    assert run.end(SOON) == 1
    assert monotonic() - began <= SOON


def test_ray_job_submit(hosts: RayHosts, tmp_path: Path) -> None:
    """The coordinator is in the cluster, and Ray moves the job's folder: its data is read from where it is then."""
    hosts.start_ray("--include-dashboard", "true", "--dashboard-host", hosts.addresses[0])
    work = tmp_path / "work"
    work.mkdir()
    mlp(work)
    dashboard = f"http://{hosts.addresses[0]}:8265"
    command = ("netpart", *launch(Path("mlp.conf"))[3:], "--workspace", str(tmp_path / "run"))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    within = ("env", f"PATH={path}", *command)
    run = hosts.play(0, *RAY, "job", "submit", "--address", dashboard, "--working-dir", str(work), "--", *within)
    assert run.end(LONG) == 0, run.lines
    assert "as predicted" in "".join(run.lines)
    assert "succeeded" in "".join(run.lines)
