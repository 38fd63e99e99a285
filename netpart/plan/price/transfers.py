"""Transfers: the seconds that messages between workers take. Each is priced over the link of its own two ends, and
messages that leave or enter a host share its port (``collectives/price.py``)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from netpart.collectives.price import PACKING, PricedMessage, arrival_times
from netpart.plan.price.devices import Devices
from netpart.plan.price.ledger import LedgerEntry

Message = tuple[int, int, int]
"""(source, target, bytes)."""


def transfer_seconds(messages: Iterable[Message], devices: Devices) -> float:
    """Seconds until the last of ``messages`` has arrived. All may be sent at once, those of a worker in their order."""
    return max(arrival_times([PricedMessage(*message) for message in messages], devices.network), default=0.0)


def entry_arrivals(entries: Iterable[LedgerEntry], devices: Devices) -> list[float]:
    """By worker, the seconds until the last of its messages has arrived; 0 without one. In a collective, a message
    leaves when its source has the blocks."""
    return arrival_times([_priced_entry(entry) for entry in entries], devices.network)


def _priced_entry(entry: LedgerEntry) -> PricedMessage:
    """The message of an entry. A block is one of the collective, in both halves of an all-reduce."""
    packing = entry.nbytes / PACKING if len(entry.blocks) > 1 else 0.0
    blocks = tuple((entry.channel.edge, block) for block in entry.blocks)
    return PricedMessage(entry.source, entry.target, entry.nbytes, blocks, packing)


def entry_messages(entries: Iterable[LedgerEntry]) -> list[Message]:
    """The messages of entries."""
    return [(entry.source, entry.target, entry.nbytes) for entry in entries]


def handling_seconds(messages: Iterable[Message], devices: Devices) -> list[float]:
    """By worker, the seconds that messages keep it busy, as sender or receiver."""
    found = [0.0] * len(devices)
    sent: dict[tuple[int, int], list[int]] = defaultdict(list)
    for source, target, nbytes in messages:
        sent[source, target].append(nbytes)
    for pair, sizes in sent.items():
        link = devices.network.route(*pair).cost
        for worker in pair:
            found[worker] += len(sizes) * link.overhead + sum(sizes) / link.bandwidth
    return found


def port_seconds(messages: Iterable[Message], devices: Devices) -> float:
    """The seconds that messages keep the busiest port of a host busy; 0 without hosts."""
    busy: dict[int, float] = defaultdict(float)
    for source, target, nbytes in messages:
        for port in devices.network.route(source, target).ports:
            busy[port] += nbytes / devices.network.hosts[port // 2].bandwidth
    return max(busy.values(), default=0.0)


def connected_workers(messages: Iterable[Message]) -> dict[int, set[int]]:
    """By worker, all that messages connect it with, in any number of steps, and itself."""
    found: dict[int, set[int]] = {}
    for source, target, _ in messages:
        one, other = found.setdefault(source, {source}), found.setdefault(target, {target})
        if one is not other:
            one |= other
            found.update(dict.fromkeys(other, one))
    return found
