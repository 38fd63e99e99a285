"""Device stages: PipeDream's stages of a net on some devices, all as slow as the slowest of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from netpart.plan.price.devices import Devices
from netpart.plan.price.net_profile import NetProfile
from netpart.plan.stages.device_levels import device_levels
from netpart.plan.stages.pipeline_stages import search_pipeline


@dataclass(frozen=True)
class DeviceStage:
    """Layers of a profile, by index, and the workers that compute them."""

    layers: tuple[int, ...]
    workers: tuple[int, ...]


def search_device_stages(profile: NetProfile, devices: Devices, straight: bool = False) -> tuple[DeviceStage, ...]:
    """The stages of the fastest pipeline; ``straight`` as in ``search_pipeline``. Without hosts, the fastest devices
    get the first stages."""
    slowest = min(devices.speeds)
    layers = tuple(
        replace(layer, forward=layer.forward / slowest, backward=layer.backward / slowest) for layer in profile.layers
    )
    levels = device_levels(devices)
    found = search_pipeline(replace(profile, layers=layers), levels, straight=straight)
    workers = list(range(len(devices)))
    # Workers of one host are neighbours; without hosts any order will do.
    order = workers if levels.hosts > 1 else sorted(workers, key=lambda worker: -devices.speeds[worker])
    return tuple(DeviceStage(each.layers, tuple(sorted(order[w] for w in each.workers))) for each in found.stages)
