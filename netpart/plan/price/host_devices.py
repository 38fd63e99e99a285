"""Host devices: the workers of this host as devices, by its measured figures."""

from __future__ import annotations

import os
from dataclasses import replace

from netpart.plan.price.devices import Devices, equal_devices
from netpart.plan.timings.host_figures import HostFigures
from netpart.threads import available_cores


def figured_devices(workers: int, figures: HostFigures, cores: int | None = None) -> Devices:
    """Devices for ``workers`` processes on this host, by its ``figures``, over the first of its kept links.

    If there are fewer ``cores`` than workers, they share its speed. Each worker gets an even share of the memory.
    """
    cores = cores or available_cores()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / workers
    share = min(1.0, cores / workers)
    transport, link = next(iter(figures.links.items()), ("", None))
    found = equal_devices(workers, figures.speed * share, memory, link, figures.streaming * share)
    return replace(found, sums=figures.sums.get(transport))
