"""Workspaces: the memory for the scratch of Ops, one for all that are done one after another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from netpart.kernels.op import Array, Op

if TYPE_CHECKING:
    from netpart.worker.actions import Action, Bound


def nbytes(op: Op) -> int:
    """Of its scratch."""
    return sum(_nbytes(shape, dtype) for shape, dtype in op.scratch)


def scratch_bytes(actions: Iterable[Action]) -> dict[int, int]:
    """By lane, the size of the workspace that ``actions`` can share, one after another."""
    found: dict[int, int] = {}
    for action in actions:
        found[action.lane] = max(found.get(action.lane, 0), action.scratch)
    return found


def attach(bound: Bound, workspaces: Mapping[int, Array]) -> None:
    """Hands every Op its slices of the workspace of its lane."""
    for action, op in bound.scratch:
        action.run = partial(op.run, *_slices(op, workspaces[action.lane]))


def _slices(op: Op, workspace: Array) -> Iterator[Array]:
    start = 0
    for shape, dtype in op.scratch:
        count = prod(shape) * int(np.dtype(dtype).itemsize)
        yield workspace[start : start + count].view(dtype).reshape(shape)
        start += _nbytes(shape, dtype)


def _nbytes(shape: tuple[int, ...], dtype: Any) -> int:
    return -(-prod(shape) * int(np.dtype(dtype).itemsize) // 64) * 64
