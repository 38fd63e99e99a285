"""Collectives as values: schedules, which the planner estimates and the workers execute, and gradient buckets."""

from __future__ import annotations

from netpart.collectives.buckets import pack_buckets
from netpart.collectives.kinds import GRADIENT, KINDS, collective_schedule, count_blocks, cut_into_blocks
from netpart.collectives.price import LinkCost, choose_algorithm, schedule_seconds
from netpart.collectives.schedule import BlockMessage, Schedule, returned_messages, reverse_schedule

__all__ = [
    "GRADIENT",
    "KINDS",
    "BlockMessage",
    "LinkCost",
    "Schedule",
    "choose_algorithm",
    "collective_schedule",
    "count_blocks",
    "cut_into_blocks",
    "pack_buckets",
    "returned_messages",
    "reverse_schedule",
    "schedule_seconds",
]  # fmt: skip
