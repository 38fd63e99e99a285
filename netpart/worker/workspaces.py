"""Workspaces: scratch memory of Ops, shared by all Ops that run one after another."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import partial
from math import prod
from typing import Any

import numpy as np

from netpart.kernels.op import Array, Op, padded_bytes
from netpart.worker.actions import Action, BoundProgram
from netpart.worker.machine import ALIGN, Machine


def allot_workspaces(machine: Machine, phases: Collection[BoundProgram]) -> None:
    """Give all Ops of a lane one workspace, as large as the largest scratch among them.

    Raises MemoryRefused, before allocating anything.
    """
    needs = _scratch_by_lane(action for bound in phases for action in bound.actions)
    machine.workspace_bytes = sum(needs.values())
    machine.refuse_unless_fits(machine.workspace_bytes)
    memory = {lane: _allocate_workspace(machine.xp, need) for lane, need in needs.items()}
    for action, op in (each for bound in phases for each in bound.scratch):
        action.run = partial(op.run, *_workspace_slices(op, memory[action.lane]))


def _scratch_by_lane(actions: Iterable[Action]) -> dict[int, int]:
    """For each lane, the size of the workspace that ``actions`` can share, one after another."""
    found: dict[int, int] = {}
    for action in actions:
        found[action.lane] = max(found.get(action.lane, 0), action.scratch)
    return found


def _allocate_workspace(xp: Any, need: int) -> Array:
    """Aligned memory of ``need`` bytes."""
    memory = xp.empty(need + ALIGN, np.uint8)
    return memory[-memory.__array_interface__["data"][0] % ALIGN if xp is np else 0 :]


def _workspace_slices(op: Op, workspace: Array) -> Iterator[Array]:
    start = 0
    for shape, dtype in op.scratch:
        count = prod(shape) * int(np.dtype(dtype).itemsize)
        yield workspace[start : start + count].view(dtype).reshape(shape)
        start += padded_bytes(shape, dtype)
