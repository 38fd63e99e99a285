"""The memory of the emulated device: which is its, and in what order it is used."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from math import prod
from pathlib import Path
from typing import Any


@cache
def host() -> Any:
    """The module host.py beside this package."""
    spec = spec_from_file_location("emulator_host", Path(__file__).parents[1] / "host.py")
    assert spec is not None
    assert spec.loader is not None
    found = module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


class Lying:
    """What lies at an address of the device, as far as its use goes: an array, or bytes."""

    dtype = "elements"

    def __init__(self, address: int, shape: Sequence[int], strides: Sequence[int] = (1,), itemsize: int = 1) -> None:
        self.shape = shape
        self.strides = strides
        self.itemsize = itemsize
        self.ndim = len(shape)
        self.size, self.__array_interface__ = prod(shape), {"data": (address, False)}


LIBRARY = host().runtime()
LIBRARY.memory_use.restype = ctypes.c_char_p


def enroll(address: int, nbytes: int, written: bool = False, pool: bool = False) -> None:
    """These bytes are the device's; until somebody writes them nobody may read them.

    Of a ``pool`` they come in the order of the current stream: until now they may have been something else.
    """
    if nbytes:
        LIBRARY.memory_enroll(ctypes.c_size_t(address), ctypes.c_size_t(nbytes), written, pool)


def alias(address: int, nbytes: int, of: int) -> None:
    """So are these, which are those at another address."""
    LIBRARY.memory_alias(ctypes.c_size_t(address), ctypes.c_size_t(nbytes), ctypes.c_size_t(of))


def dismiss(address: int) -> None:
    """What begins here is the device's no longer."""
    LIBRARY.memory_dismiss(ctypes.c_size_t(address))


def has(address: int) -> bool:
    """True if this is memory of the device."""
    return bool(LIBRARY.memory_has(ctypes.c_size_t(address)))


def begin(stream: int, number: int, known: Mapping[int, int]) -> None:
    """What is done from here on is this work of a stream, behind what is ``known``: works of other streams, up to a
    number."""
    numbers = ctypes.c_uint * len(known)
    LIBRARY.memory_work(stream, number, len(known), numbers(*known), numbers(*known.values()))


def forget(stream: int) -> None:
    """This stream has no work any more."""
    LIBRARY.memory_forget(stream)


def reads(array: Any, any: bool = False) -> None:
    """The device reads an array, ``any``: also what nobody has written. Raises RuntimeError if it may not."""
    _use(array, False, any)


def writes(array: Any) -> None:
    """The device writes an array. Raises RuntimeError if it may not."""
    _use(array, True, False)


def _use(array: Any, writes: bool, any: bool) -> None:
    if not array.size:
        return
    axes = ctypes.c_longlong * array.ndim
    shape = axes(*array.shape)
    steps = axes(*array.strides)
    first = array.__array_interface__["data"][0]
    item = ctypes.c_size_t(array.itemsize)
    found = LIBRARY.memory_use(ctypes.c_size_t(first), item, array.ndim, shape, steps, writes, any)
    if found:
        raise RuntimeError(f"an array of {array.shape} {array.dtype}: a copy or a library {found.decode()}")
