"""Faults that several instances of a block have, joined to one."""

from __future__ import annotations

from dataclasses import replace

from netpart.errors import ConfigError, JobError, Position


def join_instances(error: JobError) -> None:
    """Join faults of ``error`` at one place: the first instance is named, and the number of the others follows."""
    groups: dict[object, list[JobError]] = {}
    for fault in error.faults:
        groups.setdefault(_fault_place(fault) or id(fault), []).append(fault)
    for first, *others in groups.values():
        if others and isinstance(first.position, Position):
            instance = f"{first.position.instance} and {len(others)} more"
            first.position = replace(first.position, instance=instance)
    error.also = tuple(fault for fault in error.also if any(fault is group[0] for group in groups.values()))


def _fault_place(fault: JobError) -> object:
    """What the same faults of several instances share; None for a fault in no instance."""
    if not isinstance(fault, ConfigError) or fault.position is None or not fault.position.instance:
        return None
    return replace(fault.position, instance=""), fault.expected
