"""Devices: read from a file of workers/, made alike, or measured; a group's link is the slowest among them."""

from __future__ import annotations

from pathlib import Path

import pytest

from netpart.collectives.network import LinkCost
from netpart.errors import ConfigError
from netpart.plan.price.devices import devices_of_cluster, equal_devices, measure_devices, read_devices
from netpart.proto.reader import read_job_text

TEXT = """cluster {
  device { name: "fast" count: 2 flops: 4e9 memory: 100 }
  device { name: "slow" flops: 1e9 }
  link { between: "fast" bandwidth: 5e9 }
  link { between: "slow" between: "fast" latency: 1e-3 bandwidth: 1e8 }
  link { bandwidth: 2e9 }
}
"""


def test_devices_are_numbered_in_their_order() -> None:
    found = devices_of_cluster(read_job_text(TEXT).proto.cluster)
    assert [(d.name, d.speed, d.memory) for d in found.devices] == [
        ("fast", 4e9, 100.0), ("fast", 4e9, 100.0), ("slow", 1e9, float("inf")),
    ]  # fmt: skip
    assert found.first(2).speeds == [4e9, 4e9]
    assert found.relative().speeds == [1.0, 1.0, 0.25]
    with pytest.raises(ConfigError, match="at most the 3 devices, got 4"):
        found.first(4)


def test_a_group_is_as_fast_as_its_slowest_link() -> None:
    found = devices_of_cluster(read_job_text(TEXT).proto.cluster)
    assert found.between((0, 1)).bandwidth == 5e9
    assert found.between((0, 1, 2)) == LinkCost(1e-3, 10e-6, 1e8)
    assert found.between((2,)).bandwidth == 2e9


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("cluster { }", "devices, got none"),
        ('cluster {\n  device { name: "a" }\n}', ":2:.* a: expected flops above 0, got 0"),
        ('cluster { device { name: "a" flops: 1 } link { between: "b" } }', "one or two devices, got b; .* are a"),
        ("cluster { device { flops: 1 } link { bandwidth: 0 } }", "link: expected bandwidth above 0"),
    ],
)
def test_what_names_no_devices_is_refused(text: str, told: str, tmp_path: Path) -> None:
    path = tmp_path / "devices.conf"
    path.write_text(text)
    with pytest.raises(ConfigError, match=told):
        read_devices(path)


def test_this_host_s_cores_are_shared() -> None:
    two = measure_devices(2, cores=4)
    assert len(two) == 2
    assert two.speeds[0] > 1e6
    assert measure_devices(8, cores=4).devices[0].memory == pytest.approx(two.devices[0].memory / 4)


def test_alike_devices_are_alike() -> None:
    assert len(set(equal_devices(3, 2.0).devices)) == 1
