"""Collectives as values: schedules that the planner prices and the worker plays, and gradient buckets."""

from __future__ import annotations

from netpart.collectives.buckets import pack
from netpart.collectives.kinds import GRADIENT, KINDS, blocks_of, pieces, schedule
from netpart.collectives.price import Link, choose, seconds
from netpart.collectives.schedule import Message, Schedule, backwards, returned

__all__ = [
    "GRADIENT", "KINDS", "Link", "Message", "Schedule", "backwards", "blocks_of",
    "choose", "pack", "pieces", "returned", "schedule", "seconds",
]  # fmt: skip
