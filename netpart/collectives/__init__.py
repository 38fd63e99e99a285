"""Collectives as values: schedules that the planner prices and the worker plays, and gradient buckets."""

from __future__ import annotations

from netpart.collectives.buckets import pack
from netpart.collectives.ring import Schedule, Step, all_gather, all_reduce, chunks, reduce_scatter, volume
from netpart.collectives.ring_state import RingState

__all__ = ["RingState", "Schedule", "Step", "all_gather", "all_reduce", "chunks", "pack", "reduce_scatter", "volume"]
