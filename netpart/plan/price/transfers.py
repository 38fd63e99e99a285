"""The time of messages between devices: until the last has arrived, and for which each worker handles them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from netpart.collectives.price import schedule_seconds
from netpart.collectives.schedule import BlockMessage
from netpart.plan.price.devices import Devices

Message = tuple[int, int, int]
"""(source worker, target worker, bytes)."""


def transfer_seconds(messages: Sequence[Message], devices: Devices) -> float:
    """Seconds until the last message has arrived, sent in order over the slowest link among the workers."""
    workers = sorted({w for source, target, _ in messages for w in (source, target)})
    # A schedule numbers its members from 0.
    place = {w: i for i, w in enumerate(workers)}
    schedule = tuple(BlockMessage(place[s], place[t], (i,)) for i, (s, t, _) in enumerate(messages))
    return schedule_seconds(schedule, [nbytes for *_, nbytes in messages], len(workers), devices.between(workers))


def handling_seconds(messages: Sequence[Message], devices: Devices) -> list[float]:
    """Seconds that messages keep each worker busy, as sender or receiver."""
    found = [0.0] * len(devices)
    sent: dict[tuple[int, int], list[int]] = defaultdict(list)
    for source, target, nbytes in messages:
        sent[source, target].append(nbytes)
    for pair, sizes in sent.items():
        link = devices.between(pair)
        for worker in pair:
            found[worker] += len(sizes) * link.overhead + sum(sizes) / link.bandwidth
    return found
