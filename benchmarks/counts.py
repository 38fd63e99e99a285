"""Figures of a placement that need no clock: work of the workers, waiting, bytes and messages."""

from __future__ import annotations

from typing import Any

from netpart.collectives.network import LinkCost
from netpart.graph.partition import Partition
from netpart.plan.price.devices import equal_devices
from netpart.plan.price.ledger import compute_ledger
from netpart.plan.price.predict import predict_step

FREE = LinkCost(0.0, 0.0, float("inf"))


def counts(cut: Partition) -> dict[str, Any]:
    """The figures of ``cut`` by name.

    ``idle``: the fraction of a step in which a worker waits on average, if messages were free and each FLOP took the
    same time (netpart.plan.price.predict). ``busiest``: FLOPs of the busiest worker over the mean. ``bytes`` and
    ``messages`` that cross workers in a step."""
    found, sent = predict_step(cut, equal_devices(cut.workers, link=FREE)), compute_ledger(cut)
    fair = sum(found.busy) / cut.workers
    return {
        "idle": max(0.0, 1 - fair / found.seconds), "busiest": max(found.busy) / fair, "bytes": sent.total,
        "messages": len(sent.entries),
    }  # fmt: skip
