"""netpart simulate: the tables of a profile, and what its options refuse."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Netpart

LINK = "--link", "50e-6,1e9"


def test_a_simulation_prints_the_tables_of_a_profile(netpart: Netpart, job: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    answer = netpart("simulate", job, "--workers", 2, "--steps", 1, *LINK, "--speeds", "1,0.5", "-o", trace)
    assert answer.code == 0, answer.err
    assert answer.out.startswith("small: 2 workers, batch 8, 1 step; a step takes ")
    assert "link: latency 50.0 µs, 953.7 MiB/s, 10.0 µs busy at either end (--link 5e-05,1e+09)" in answer.err
    assert {event["pid"] for event in json.loads(trace.read_text())["traceEvents"]} == {0, 1}


@pytest.mark.parametrize("link", ["50e-6", "a,b", "-1,1e9", "0,0", "inf,1e9", "0,nan"])
def test_a_link_is_seconds_and_bytes_a_second(link: str, netpart: Netpart, job: Path) -> None:
    answer = netpart("simulate", job, f"--link={link}")
    assert answer.code == 2
    assert f"expected seconds,bytes/s such as 50e-6,1e9, got '{link}'" in answer.err


@pytest.mark.parametrize("speeds", ["0,1", "1,", "inf,1", "1,nan"])
def test_speeds_are_above_0(speeds: str, netpart: Netpart, job: Path) -> None:
    answer = netpart("simulate", job, *LINK, "--speeds", speeds)
    assert answer.code == 2
    assert "expected numbers above 0 such as 1,0.5" in answer.err


def test_every_worker_has_a_speed_before_anything_is_measured(
    netpart: Netpart, job: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("netpart.measure.link_speed.measure_link", None)
    answer = netpart("simulate", job, "--workers", 2, "--speeds", "1,1,1")
    assert answer.code == 2
    assert answer.err == "error: --speeds: expected 2 speeds above 0, one for each worker, got 1,1,1; list 2 of them\n"


HOSTS = """cluster {
  device { name: "a" count: 4 flops: 1e9 }
  link { latency: 1e-6 overhead: 1e-6 bandwidth: 1e9 }
  host { count: 2 workers: 2 bandwidth: %s }
}"""


def test_devices_have_speeds_links_and_hosts(netpart: Netpart, job: Path, tmp_path: Path) -> None:
    """A run over slow cards takes longer, and chooses collectives for its hosts."""
    seconds = []
    for bandwidth in ("1e9", "1e5"):
        devices = tmp_path / f"{bandwidth}.conf"
        devices.write_text(HOSTS % bandwidth)
        answer = netpart("simulate", job, "--workers", 4, "--steps", 2, "--by", "flops", "--devices", devices, "--json")
        assert answer.code == 0, answer.err
        seconds.append(json.loads(answer.out)["step_seconds"])
    assert seconds[1] > 10 * seconds[0]


def test_hosts_of_a_job_share_their_cards(netpart: Netpart, job: Path) -> None:
    host = [f"--set=cluster.host[0].{field}" for field in ("workers=1", "count=2", "bandwidth=1e4")]
    times = []
    for options in ([], host):
        answer = netpart("simulate", job, "--workers", 2, "--steps", 2, "--by", "flops", *LINK, *options, "--json")
        assert answer.code == 0, answer.err
        times.append(json.loads(answer.out)["step_seconds"])
    assert times[1] > 10 * times[0]


def test_devices_define_links_and_speeds(netpart: Netpart, job: Path, tmp_path: Path) -> None:
    devices = tmp_path / "devices.conf"
    devices.write_text(HOSTS % "1e9")
    for option in (LINK, ("--speeds", "1,1")):
        answer = netpart("simulate", job, "--workers", 2, "--devices", devices, *option)
        assert answer.code == 2
        assert f"{option[0]}: expected no --devices, which define it" in answer.err
    answer = netpart("simulate", job, "--workers", 5, "--devices", devices)
    assert "--workers: expected at most the 4 devices, got 5" in answer.err


def test_counted_work_takes_the_same_every_time(netpart: Netpart, job: Path) -> None:
    options = "--workers", 2, "--stages", 2, "--schedule", "delayed", "--steps", 3, "--by", "flops", *LINK, "--json"
    answer = netpart("simulate", job, *options)
    assert answer.code == 0, answer.err
    told = json.loads(answer.out)
    assert told["workers"][0]["update"] == 0.0
    assert told["step_seconds"] > 0
    assert told["memory"][0]["parts"]["versions"] > told["memory"][1]["parts"]["versions"] == 0
