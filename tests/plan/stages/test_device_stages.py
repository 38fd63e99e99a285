"""Device stages: all layers on all workers, of which the fastest compute the first stages."""

from __future__ import annotations

from netpart.collectives.network import LinkCost
from netpart.plan.price.devices import Devices, DeviceSpec
from netpart.plan.price.net_profile import LayerProfile, NetProfile
from netpart.plan.stages.device_stages import search_device_stages

CHAIN = NetProfile(
    tuple(LayerProfile(f"l{n}", "layer", 1.0, 2.0, 1.0, 1e6) for n in range(4)), ((0, 1), (1, 2), (2, 3))
)


def test_the_fastest_devices_get_the_first_stages() -> None:
    """Parameters that are dear to sum: each of four workers computes one of four layers."""
    devices = Devices(tuple(DeviceSpec(f"d{speed}", float(speed)) for speed in (1, 4, 2, 3)), LinkCost(0.0, 0.0, 1e5))
    found = search_device_stages(CHAIN, devices, straight=True)
    assert [stage.layers for stage in found] == [(0,), (1,), (2,), (3,)]
    assert [stage.workers for stage in found] == [(1,), (3,), (2,), (0,)]
