"""The price setting: what all prices of the search depend on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from netpart.kernels.reference import Kernels
from netpart.plan.optimal.link_prices import LinkPrices
from netpart.plan.optimal.transfer_prices import TransferPricer
from netpart.plan.price.devices import Devices


@dataclass(frozen=True)
class PriceSetting:
    """Devices and links, work per FLOP by layer, the prices of messages, bytes of an element, arrays of the updater's
    state, the size in elements from which updates are sharded, whether the net recomputes, the kernels that keep arrays
    for backward.

    Sums of gradients and updates are priced by their share in one of the ``passes`` of a step: prices are then those of
    one micro-batch, not of a step. With ``recomputes`` layers may be recomputed where memory has a price.
    """

    devices: Devices
    links: LinkPrices
    rates: Mapping[str, float]
    pricer: TransferPricer
    width: int
    slots: int
    sharded_from: int
    recompute: bool
    kernels: type[Kernels]
    passes: int = 1
    recomputes: bool = False
