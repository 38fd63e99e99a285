"""Devices of this host: workers share its cores, its memory and its link."""

from __future__ import annotations

from netpart.collectives.network import LinkCost
from netpart.plan.price.host_devices import figured_devices
from netpart.plan.timings.host_figures import HostFigures


def test_figures_are_shared_by_workers_of_a_core() -> None:
    figures = HostFigures(8e9, 4e9, links={"shm": LinkCost(1e-6, 1e-6, 1e10)})
    two, eight = (figured_devices(workers, figures, cores=4) for workers in (2, 8))
    assert (two.devices[0].speed, eight.devices[0].speed) == (8e9, 4e9)
    assert eight.devices[0].streaming == 2e9
    assert eight.devices[0].memory * 4 == two.devices[0].memory
    assert two.link == figures.links["shm"]
