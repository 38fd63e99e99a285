"""Verbs that oneDNN refuses in bfloat16: the reference computes them on float32 copies of their arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from netpart.kernels.bfloat16 import is_bfloat16, write_converted
from netpart.kernels.op import Array, Op
from netpart.kernels.verbs import NOTHING


def widened_op(verb: Callable[..., Op], args: Sequence[Any]) -> Op:
    """The Op of ``verb``, a method of float32 kernels, on ``args``: arrays, or tuples and lists of them.

    Copies of the arrays in bfloat16 are in the scratch. All are converted before and after, as verbs do not tell which
    they write: a number that stays the same is rounded to itself.
    """
    narrow = {_memory_key(array): array for array in _arrays_in(args) if is_bfloat16(array)}
    if not narrow:
        return verb(*args)
    # Bound to arrays without contents, which take no memory, for the scratch that the verb needs itself.
    inner = verb(*_with_copies(args, {key: np.empty_like(array, np.float32) for key, array in narrow.items()}))
    needs = [((array.size,), np.float32) for array in narrow.values()]
    return Op(_WidenedRun(verb, args, narrow), [*needs, *inner.scratch])


class _WidenedRun:
    """The run of a verb on copies in scratch. It is bound again when the scratch has moved, which is rare."""

    def __init__(self, verb: Callable[..., Op], args: Sequence[Any], narrow: dict[Any, Array]) -> None:
        self.verb = verb
        self.args = args
        self.narrow = narrow
        self.at: Sequence[Array] = ()
        self.pairs: list[tuple[Array, Array]] = []
        self.run: Callable[..., None] = NOTHING.run

    def __call__(self, *scratch: Array) -> None:
        count = len(self.narrow)
        if not self.at or any(now is not was for now, was in zip(scratch, self.at, strict=True)):
            self._bind(scratch)
        for array, copy in self.pairs:
            write_converted(copy, array)
        self.run(*scratch[count:])
        for array, copy in self.pairs:
            write_converted(array, copy)

    def _bind(self, scratch: Sequence[Array]) -> None:
        """Bind the verb to copies in ``scratch``."""
        self.at = scratch
        copies = {key: _like(array, flat) for (key, array), flat in zip(self.narrow.items(), scratch, strict=False)}
        self.pairs = [(self.narrow[key], copy) for key, copy in copies.items()]
        self.run = self.verb(*_with_copies(self.args, copies)).run


def _memory_key(array: Array) -> tuple[Any, ...]:
    """The same for arrays that are the same elements of memory: a verb may be given one array twice."""
    return array.__array_interface__["data"][0], array.shape, array.strides


def _arrays_in(value: Any) -> Iterator[Array]:
    """The arrays in a value, which may be a tuple or a list of them."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, tuple | list):
        for each in value:
            yield from _arrays_in(each)


def _with_copies(value: Any, copies: dict[Any, Array]) -> Any:
    """``value`` with the copies in place of the arrays in bfloat16."""
    if isinstance(value, np.ndarray) and is_bfloat16(value):
        return copies[_memory_key(value)]
    if not isinstance(value, tuple | list):
        return value
    made = [_with_copies(each, copies) for each in value]
    return value._make(made) if hasattr(value, "_make") else type(value)(made)


def _like(array: Array, flat: Array) -> Array:
    """Flat float32 memory in the shape of ``array``, with its order of axes."""
    order = sorted(range(array.ndim), key=lambda axis: -array.strides[axis])
    return flat.reshape([array.shape[axis] for axis in order]).transpose(
        [order.index(axis) for axis in range(array.ndim)]
    )
