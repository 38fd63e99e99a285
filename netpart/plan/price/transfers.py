"""Transfers: the seconds that messages between workers take. Each is priced over the link of its own two ends, and
messages that leave or enter a host share its port (``collectives/price.py``)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from netpart.collectives.network import Numbers
from netpart.collectives.price import PACKING, PricedMessage, arrival_times
from netpart.collectives.rounds import RoundPlay
from netpart.plan.price.devices import Devices
from netpart.plan.price.ledger import LedgerEntry, LedgerExchange, LedgerFlow

Message = tuple[int, int, int]
"""(source, target, bytes)."""
MessageTable = tuple[Numbers, Numbers, Numbers]
"""The sources, the targets and the bytes of some messages."""


def transfer_seconds(messages: Iterable[Message], devices: Devices) -> float:
    """Seconds until the last of ``messages`` has arrived. All may be sent at once, those of a worker in their order."""
    return max(arrival_times([PricedMessage(*message) for message in messages], devices.network), default=0.0)


def flow_arrivals(flows: Sequence[LedgerFlow], devices: Devices) -> list[float]:
    """By worker, the seconds until the last of its messages has arrived, as ``_entry_arrivals`` of all entries."""
    if devices.network.hosts or not any(isinstance(flow, LedgerExchange) for flow in flows):
        return _entry_arrivals([entry for flow in flows for entry in flow.entries()], devices)
    # The n² messages of a collective are not listed.
    play = RoundPlay(devices.network, PACKING)
    for flow in flows:
        if isinstance(flow, LedgerEntry):
            play.play_message(flow.source, flow.target, flow.nbytes)
            continue
        found = flow.exchange
        nbytes = [elements * flow.width for elements in found.sizes]
        play.play_schedule(found.schedule, nbytes, found.members, ("edge", flow.channel.edge, len(nbytes)))
    return play.arrivals.tolist()


def _entry_arrivals(entries: Iterable[LedgerEntry], devices: Devices) -> list[float]:
    """By worker, the seconds until the last of its messages has arrived; 0 without one. In a collective, a message
    leaves when its source has the blocks."""
    return arrival_times([_priced_entry(entry) for entry in entries], devices.network)


def _priced_entry(entry: LedgerEntry) -> PricedMessage:
    """The message of an entry. A block is one of the collective, in both halves of an all-reduce."""
    packing = entry.nbytes / PACKING if len(entry.blocks) > 1 else 0.0
    blocks = tuple((entry.channel.edge, block) for block in entry.blocks)
    return PricedMessage(entry.source, entry.target, entry.nbytes, blocks, packing)


def _entry_messages(entries: Iterable[LedgerEntry]) -> list[Message]:
    """The messages of entries."""
    return [(entry.source, entry.target, entry.nbytes) for entry in entries]


def handling_seconds(messages: Iterable[Message], devices: Devices) -> list[float]:
    """By worker, the seconds that messages keep it busy, as sender or receiver."""
    table = np.array(list(messages), np.int64).reshape(-1, 3)
    return _busy_seconds([(table[:, 0], table[:, 1], table[:, 2])], devices)


def flow_handling(flows: Iterable[LedgerFlow], devices: Devices, entering: bool = True) -> list[float]:
    """By worker, the seconds that the messages of flows keep it or its link busy, as sender or receiver; without
    ``entering`` bytes do not count for the receiver."""
    flows = list(flows)
    single = [(flow.source, flow.target, flow.nbytes) for flow in flows if isinstance(flow, LedgerEntry)]
    tables = [_flow_table(flow) for flow in flows if isinstance(flow, LedgerExchange)]
    one_by_one = np.array(single, np.int64).reshape(-1, 3)
    return _busy_seconds([(one_by_one[:, 0], one_by_one[:, 1], one_by_one[:, 2]), *tables], devices, entering)


def flow_calls(flows: Iterable[LedgerFlow], devices: Devices) -> list[float]:
    """By worker, the seconds for which it can do nothing but send or take the messages of flows: both ends for the
    overhead, the sender also for the bytes."""
    return flow_handling(flows, devices, entering=False)


def _flow_table(flow: LedgerExchange) -> MessageTable:
    """The source, the target and the bytes of each message of a collective."""
    sources, targets, elements = flow.exchange.message_table
    members = np.array(flow.exchange.members, np.int64)
    return members[sources], members[targets], elements * flow.width


def _busy_seconds(tables: Iterable[MessageTable], devices: Devices, entering: bool = True) -> list[float]:
    """By worker, the seconds that messages keep it busy; ``entering`` as in ``flow_handling``."""
    count = len(devices)
    found = np.zeros(count)
    for sources, targets, nbytes in tables:
        overhead, bandwidth, _, _ = devices.network.find_pair_costs(sources, targets)
        busy = overhead + nbytes / bandwidth
        taking = busy if entering else np.broadcast_to(overhead, busy.shape)
        found += np.bincount(sources, busy, count) + np.bincount(targets, taking, count)
    return found.tolist()


def port_seconds(messages: Iterable[Message], devices: Devices) -> float:
    """The seconds that messages keep the busiest port of a host busy; 0 without hosts."""
    busy: dict[int, float] = defaultdict(float)
    for source, target, nbytes in messages:
        for port in devices.network.route(source, target).ports:
            busy[port] += nbytes / devices.network.hosts[port // 2].bandwidth
    return max(busy.values(), default=0.0)


def flow_ports(flows: Iterable[LedgerFlow], devices: Devices) -> float:
    """``port_seconds`` of the messages of flows."""
    if not devices.network.hosts:
        return 0.0
    return port_seconds(_entry_messages(entry for flow in flows for entry in flow.entries()), devices)


def connected_by_flows(flows: Iterable[LedgerFlow]) -> dict[int, set[int]]:
    """``connected_workers`` of the messages of flows."""
    chains = (tuple(flow.sent) + tuple(flow.received) for flow in flows)
    return connected_workers((chain[0], worker, 0) for chain in chains for worker in chain)


def connected_workers(messages: Iterable[Message]) -> dict[int, set[int]]:
    """By worker, all that messages connect it with, in any number of steps, and itself."""
    found: dict[int, set[int]] = {}
    for source, target, _ in messages:
        one, other = found.setdefault(source, {source}), found.setdefault(target, {target})
        if one is not other:
            one |= other
            found.update(dict.fromkeys(other, one))
    return found
