"""Parameter prices: what it costs to sum the gradients of the parameters of a layer, and to update them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from netpart.plan.optimal.layer_stages import LayerStage
from netpart.plan.optimal.link_prices import LinkPrices, SumPrice
from netpart.plan.optimal.price_setting import PriceSetting
from netpart.spec import size

BUCKET = 1 << 20
"""Bytes of gradients that share the fixed cost of one sum: buckets hold about that many."""


@dataclass(frozen=True)
class ParameterPrice:
    """Seconds of the sums of gradients, mean seconds of updates over the workers, bytes that the sums send, seconds for
    which the sums keep the busiest worker from computing."""

    sums: float
    updates: float
    sent: float
    calls: float


def price_parameters(stages: Sequence[LayerStage], keys: Collection[str], setting: PriceSetting) -> ParameterPrice:
    """The price of the parameters with ``keys`` of a layer that learns."""
    sums, sent, moved = SumPrice(0.0, 0.0), 0.0, 0.0
    for stage in stages:
        for i, spec in enumerate(stage.layer.params):
            if spec.key in keys and not spec.read_only:
                summed = list[tuple[tuple[int, ...], float]]()
                for box, workers, whole in stage.holders(i, spec):
                    nbytes = size(box) * setting.width
                    moved += _rewritten_bytes(size(box), len(workers), whole, setting)
                    summed += [] if whole else [(workers, nbytes)]
                sums = sums.plus(price_buckets(setting.links, summed))
                sent += sum(2 * (len(workers) - 1) * nbytes for workers, nbytes in summed)
    streaming, passes = sum(device.streaming for device in setting.devices.devices), setting.passes
    return ParameterPrice(sums.seconds / passes, (moved + 6 * sent) / streaming / passes, sent, sums.calls / passes)


def price_buckets(links: LinkPrices, summed: Sequence[tuple[tuple[int, ...], float]]) -> SumPrice:
    """The price of the sums of some regions of a parameter, each over some workers, of some bytes: groups of different
    workers sum at the same time, but those that cross the port of a host one after another."""
    each = [(workers, _price_bucket(links, workers, nbytes)) for workers, nbytes in summed]
    workers = [worker for group, _ in each for worker in group]
    if len(set(workers)) < len(workers):
        return SumPrice(*(sum(prices) for prices in zip(*(price for _, price in each), strict=True)))
    shared = sum(price.seconds for group, price in each if links.is_port_crossed(group))
    longest = max([shared, *(price.seconds for _, price in each)])
    return SumPrice(longest, max((price.calls for _, price in each), default=0.0))


def _price_bucket(links: LinkPrices, workers: tuple[int, ...], nbytes: float) -> SumPrice:
    """The price of the sum of a gradient, with its share of the fixed cost of a bucket."""
    left = 1 - min(1.0, nbytes / BUCKET)
    pairs = zip(links.price_sum(workers, nbytes), links.price_sum(workers, 1.0), strict=True)
    return SumPrice(*(whole - fixed * left for whole, fixed in pairs))


def _rewritten_bytes(elements: int, holders: int, whole: bool, setting: PriceSetting) -> float:
    """Bytes that all holders of a region of a parameter read and write to update it."""
    sharded = not whole and elements >= setting.sharded_from
    return elements * setting.width * (3 + 2 * setting.slots) * (1 if sharded else holders)
