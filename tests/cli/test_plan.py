"""netpart plan: a table of proposals, and the best of them as a plan that runs."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from netpart.cli.proposals import shorten_plan_name
from netpart.collectives.network import LinkCost
from netpart.measure.other_load import OtherLoad
from netpart.plan.price.net_profile import read_profile
from netpart.plan.stages.link_levels import LinkLevels
from netpart.plan.stages.pipeline_stages import search_pipeline
from netpart.plan.timings.host_figures import HostFigures, write_host_figures
from netpart.proto.reader import read_job
from tests.cli.conftest import Netpart
from tests.plan.stages.test_pipeline_stages import PROFILES

DEVICES = """cluster {
  device { name: "fast" flops: 1e6 }
  device { name: "slow" flops: 5e5 }
}
"""


HOSTS = """cluster {
  device { name: "gpu" count: 4 flops: 1e6 }
  link { latency: 1e-6 overhead: 1e-6 bandwidth: 1e9 }
  host { count: 2 workers: 2 bandwidth: 1e6 }
}
"""


@pytest.fixture
def devices(tmp_path: Path) -> Path:
    path = tmp_path / "devices.conf"
    path.write_text(DEVICES)
    return path


@pytest.fixture
def calibrated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A host whose figures are known, and where nothing else runs."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(OtherLoad, "cores", lambda self: 0.0)
    link = LinkCost(1e-5, 1e-5, 1e9)
    write_host_figures(HostFigures(5e10, 1e10, links={"shm": link, "zeromq": link}))


def test_by_default_kernels_of_this_host_are_timed(
    job: Path, netpart: Netpart, tmp_path: Path, calibrated: None
) -> None:
    # With time for all kernels, also where other tests take the cores.
    plan = "plan", job, "--workers", 2, "--limit", 100, "--json"
    first = json.loads(netpart(*plan).out)
    (timed,) = (path for path in (tmp_path / "cache/netpart/timings").iterdir() if not path.name.startswith("host"))
    known = timed.read_text()
    assert known.count("Convolution ") >= 6  # whole, in halves of rows and of channels: forward and a gradient each
    again = json.loads(netpart(*plan).out)
    assert timed.read_text() == known
    assert again == first
    counted = json.loads(netpart("plan", job, "--workers", 2, "--by", "flops", "--json").out)
    assert counted["plans"] != first["plans"]


def test_the_link_of_the_job_is_used(job: Path, netpart: Netpart, calibrated: None) -> None:
    job.write_text(job.read_text() + "cluster { nworkers_per_group: 2 link { latency: 3 bandwidth: 1e9 } }")
    found = json.loads(netpart("plan", job, "--limit", 0, "--json").out)
    assert max(plan["seconds"] for plan in found["plans"]) > 3


def test_a_limit_of_no_time_estimates(job: Path, netpart: Netpart, calibrated: None) -> None:
    answer = netpart("plan", job, "--workers", 2, "--limit", 0)
    assert answer.code == 0
    assert re.search(r"timed 0 kernel calls, estimated \d+ ", answer.err)


def test_the_table_has_every_planner(job: Path, devices: Path, netpart: Netpart) -> None:
    answer = netpart("plan", job, "--devices", devices, "--limit", 1)
    assert answer.code == 0
    lines = answer.out.splitlines()
    assert lines[0] == f"{job}: 3 layers in 2 blocks on 1 × fast at 1.0 MFLOP/s, 1 × slow at 500.0 kFLOP/s"
    assert [line[0] for line in lines[3:6]] == ["*", " ", " "]
    for name in ("one worker", "data by speed", "greedy+gabra+exact profit", "column-row"):
        assert name in answer.out


@pytest.mark.parametrize(
    ("names", "told"),
    [
        ("data, stages", "data, stages"),
        ("stages, gabra profit, exact profit", "stages, gabra+exact profit"),
        ("greedy profit, gabra profit, greedy makespan, gabra makespan", "greedy+gabra profit+makespan"),
        ("gabra profit, exact makespan", "gabra profit, exact makespan"),
    ],
)
def test_allocators_that_agree_share_their_objectives(names: str, told: str) -> None:
    assert shorten_plan_name(names) == told


def test_a_plan_has_the_hosts_that_it_was_planned_for(job: Path, netpart: Netpart, tmp_path: Path) -> None:
    """So a run chooses the collectives that were priced."""
    devices, plan = tmp_path / "hosts.conf", tmp_path / "plan.conf"
    devices.write_text(HOSTS)
    answer = netpart("plan", job, "--devices", devices, "--limit", 1, "--take", "data", "-o", plan)
    assert answer.code == 0, answer.err
    cluster = read_job(plan).proto.cluster
    assert [(host.count, host.workers, host.bandwidth) for host in cluster.host] == [(2, 2, 1e6)]
    assert sum(device.count for device in cluster.device) == cluster.nworkers_per_group == 4


def test_the_best_is_written_and_runs(job: Path, devices: Path, netpart: Netpart, tmp_path: Path) -> None:
    plan = tmp_path / "plan.conf"
    answer = netpart("plan", job, "--devices", devices, "--micro-batches", 2, "-o", plan)
    assert answer.err == f"wrote {plan}: optimal, optimal stages\n"
    command = f"#:     netpart plan {job} --devices {devices} --micro-batches 2\n"
    assert command in plan.read_text()
    assert read_job(plan).proto.cluster.nworkers_per_group == 2
    ran = netpart("run", plan, "--launcher", "threads", "--workspace", tmp_path / "out")
    assert ran.code == 0
    assert "as predicted" in ran.out
    assert netpart("plan", job, "-o", job).code == 2


@pytest.mark.parametrize("name", ["gabra profit", "stages", "data by speed"])
def test_any_plan_can_be_taken_and_computes_the_same(
    name: str, job: Path, devices: Path, netpart: Netpart, tmp_path: Path
) -> None:
    plan = tmp_path / "plan.conf"
    answer = netpart("plan", job, "--devices", devices, "--take", name, "-o", plan)
    assert answer.code == 0
    assert name in answer.err
    assert netpart("verify", plan).code == 0


def test_what_is_no_plan_cannot_be_taken(job: Path, devices: Path, netpart: Netpart) -> None:
    answer = netpart("plan", job, "--devices", devices, "--take", "magic")
    assert answer.code == 2
    assert "--take: expected a plan of the table, got 'magic'; the planners are one worker, data" in answer.err


def test_blocks_are_shown_where_they_are_asked_for(job: Path, devices: Path, netpart: Netpart) -> None:
    answer = netpart("plan", job, "--devices", devices, "--partitions", 3, "--objective", "profit")
    rows = [line.split() for line in answer.out.splitlines()[3:6]]
    assert [row[:2] for row in rows] == [["0", "conv"], ["1", "ip"], ["2", "loss"]]
    assert {row[-1] for row in rows} == {"fast", "slow"}
    refused = netpart("plan", job, "--devices", devices, "--partitions", 4)
    assert refused.code == 2
    assert "partitions: expected at most the 3 layers, got 4" in refused.err


def test_a_search_that_is_left_out_is_told(job: Path, netpart: Netpart, tmp_path: Path) -> None:
    devices = tmp_path / "crowd.conf"
    devices.write_text('cluster { device { name: "many" count: 17 flops: 1e6 } }')
    answer = netpart("plan", job, "--devices", devices)
    assert answer.code == 0
    why = "expected at most 16 workers, got 17; plan for fewer"
    assert f"\noptimal is not searched, and is the fastest of the others: {why}\n" in answer.out
    assert f"optimal stages is not searched, and is the fastest of the others: {why}" in answer.out


def test_more_workers_than_layers_are_no_error(job: Path, netpart: Netpart, tmp_path: Path) -> None:
    devices = tmp_path / "many.conf"
    devices.write_text('cluster { device { name: "many" count: 5 flops: 1e6 } }')
    answer = netpart("plan", job, "--devices", devices)
    assert answer.code == 0
    assert (
        "not greedy+gabra+exact profit+makespan: partitions: expected one for each of 5 devices at least, got 3"
        in answer.out
    )


def test_what_has_no_room_is_refused_with_the_reason(job: Path, devices: Path, netpart: Netpart) -> None:
    answer = netpart("plan", job, "--devices", devices, "--slack", "0")
    assert answer.code == 0
    assert "not greedy+gabra+exact profit+makespan: partition 0: expected a load of at most" in answer.out
    assert "or increase --slack" in answer.out


def test_a_device_that_can_hold_the_net_alone_is_named(job: Path, netpart: Netpart, tmp_path: Path) -> None:
    devices = tmp_path / "devices.conf"
    devices.write_text(DEVICES.replace("flops: 1e6", "flops: 1e6 memory: 1000"))
    answer = netpart("plan", job, "--devices", devices)
    assert answer.code == 0
    assert re.search(r"^\*  one worker, optimal.* on 1 ", answer.out, flags=re.MULTILINE)
    assert re.search(r"^not .*data.*: needs .* on worker 0, which has 1000 B", answer.out, flags=re.MULTILINE)
    found = json.loads(netpart("plan", job, "--devices", devices, "--json").out)
    assert next(plan["workers"] for plan in found["plans"] if plan["name"] == found["best"]) == [1]


def test_json_has_it_all(job: Path, devices: Path, netpart: Netpart) -> None:
    found = json.loads(netpart("plan", job, "--devices", devices, "--json", "--bandwidth", "1GB/s").out)
    assert [device["speed"] for device in found["devices"]] == [1e6, 5e5]
    assert [block["layers"] for block in found["blocks"]] == [["conv"], ["ip", "loss"]]
    assert found["best"] in [plan["name"] for plan in found["plans"]]
    assert all(plan["seconds"] > 0 for plan in found["plans"] if not plan["refused"])


def test_this_host_is_measured(job: Path, netpart: Netpart) -> None:
    answer = netpart("plan", job, "--workers", 2, "--by", "profile")
    assert answer.code == 0
    assert answer.out.startswith(f"{job}: 3 layers in ")
    assert " on 2 × device at " in answer.out


def test_gabra_is_drawn(job: Path, devices: Path, netpart: Netpart, tmp_path: Path) -> None:
    picture = tmp_path / "gabra.svg"
    answer = netpart("plan", job, "--devices", devices, "--picture", picture)
    assert answer.err == f"wrote {picture}\n"
    assert "generation" in "".join(ElementTree.parse(picture).getroot().itertext())


def test_a_profile_is_planned_for(netpart: Netpart) -> None:
    answer = netpart("plan", "--profile", PROFILES / "vgg16.txt", "--workers", 8, "--bandwidth", "1GB/s")
    assert answer.code == 0
    assert answer.out.splitlines()[3].split()[:6] == ["*", "stages", "7-1", "0-7", "103.8", "ms"]
    as_json = netpart("plan", "--profile", PROFILES / "vgg16.txt", "--workers", 8, "--bandwidth", "1GB/s", "--json")
    assert json.loads(as_json.out)["plans"][0]["pipeline"]["seconds"] == pytest.approx(0.103833, abs=1e-6)


def test_a_profile_is_planned_for_hosts_and_their_links(netpart: Netpart) -> None:
    profile = PROFILES / "resnet18.txt"
    answer = netpart("plan", "--profile", profile, "--levels", "2:10GB/s,2:1.25GB/s", "--json")
    assert answer.code == 0
    row = json.loads(answer.out)["plans"][0]
    assert row["workers"] == [0, 1, 2, 3]
    found = search_pipeline(read_profile(profile), LinkLevels((2, 2), (10e9, 1.25e9)))
    assert row["pipeline"]["seconds"] == pytest.approx(found.seconds)


def test_sizes_of_groups_are_tried(job: Path, netpart: Netpart, tmp_path: Path) -> None:
    """Three layers on four devices: without groups there is no allocation."""
    devices = tmp_path / "four.conf"
    devices.write_text('cluster { device { name: "some" count: 4 flops: 1e6 } }')
    plans = json.loads(netpart("plan", job, "--devices", devices, "--json").out)["plans"]
    assert {plan["group"] for plan in plans if "makespan" in plan["name"] and "seconds" in plan} == {2}
    assert " in groups of 2" in netpart("plan", job, "--devices", devices).out
    alone = json.loads(netpart("plan", job, "--devices", devices, "--group", 1, "--json").out)["plans"]
    assert {plan["group"] for plan in alone} == {1}


def test_a_profile_is_planned_for_the_memory_of_devices(netpart: Netpart, tmp_path: Path) -> None:
    devices = tmp_path / "devices.conf"
    asked = ("plan", "--profile", PROFILES / "vgg16.txt", "--devices", devices)
    text = 'cluster { device { name: "v100" count: 8 flops: 1 memory: %s } link { bandwidth: 1e9 } }'
    devices.write_text(text % "4e9")
    answer = netpart(*asked)
    assert answer.code == 0
    assert "not one worker: needs 15.2 GiB on each worker, which has 3.7 GiB" in answer.out
    devices.write_text(text % "1e9")
    refused = netpart(*asked)
    assert refused.code == 1
    assert refused.out.count("\nnot ") == 4
    assert "expected a plan that the devices have room for, found none" in refused.err
    plans = json.loads(netpart(*asked, "--json").out)["plans"]
    assert all(plan["refused"] for plan in plans)
    assert "one worker" in {plan["name"] for plan in plans}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["job.conf", "--states", "2"], "--states: expected a --profile, got a JOB"),
        (["--profile", "x", "--states", "many"], "expected a whole number from 0 to 9, got 'many'"),
        (["--profile", "x", "--slack", "1"], "--slack: expected a JOB, got a --profile"),
        ([], "a JOB or a --profile, got neither"),
        (["job.conf", "--profile", "x"], "a JOB or a --profile, got both"),
        (["--profile", "x", "--group", "2"], "--group: expected a JOB, got a --profile"),
        (["--profile", "x", "-o", "y"], "--output: expected a JOB, got a --profile"),
        (["--profile", "x", "--bandwidth", "fast"], "expected a number and one of B/s, kB/s"),
        (["--profile", "x", "--levels", "4"], "expected members and bandwidths, as in 8:10GB/s,4:1.25GB/s, got '4'"),
        (["job.conf", "--levels", "4:1GB/s"], "--levels: expected a --profile, got a JOB"),
        (["--slack", "-1"], "expected a number of 0 or more, got '-1'"),
    ],
)
def test_what_cannot_be_asked_is_told(arguments: list[str], told: str, netpart: Netpart) -> None:
    answer = netpart("plan", *arguments)
    assert answer.code == 2
    assert told in answer.err


def test_blocks_can_be_placed_on_groups_of_devices(job: Path, tmp_path: Path, netpart: Netpart) -> None:
    devices, plan = tmp_path / "devices.conf", tmp_path / "plan.conf"
    devices.write_text('cluster { device { name: "slow" count: 4 flops: 1e6 } }')
    options = ("--group", 2, "--partitions", 2, "--take", "gabra profit", "--limit", 0.1, "-o", plan)
    answer = netpart("plan", job, "--devices", devices, *options)
    assert answer.code == 0
    assert "0, 1 slow" in answer.out
    assert "2, 3 slow" in answer.out
    assert "--group 2" in plan.read_text()
    assert netpart("check", plan).code == 0
