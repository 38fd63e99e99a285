"""Functions of ours as CUDA's: they take what C passes, give back a status, and say what is wrong."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from traceback import print_exc
from typing import Any

from tests.cuda.runtime import streams
from tests.cuda.runtime.errors import LAUNCH_FAILURE, NOT_READY, NOT_SUPPORTED, Refused

Pointer = ctypes.c_void_p
Int = ctypes.c_int
Unsigned = ctypes.c_uint
Size = ctypes.c_size_t
Table = dict[str, Any]
"""ctypes functions by the names that they stand for."""
SAID: list[Exception] = []


def said(name: str, why: object) -> None:
    """Says on the standard error what is wrong, or worth to know."""
    sys.stderr.write(f"runtime: {name}: {why}\n")
    sys.stderr.flush()


def guarded(name: str, work: Callable[..., None]) -> Callable[..., int]:
    """``work`` as CUDA calls it: what it raises becomes a status, and is said."""

    def call(*arguments: Any) -> int:
        with streams.LOCK:
            try:
                if streams.FAILED:
                    raise streams.FAILED[0]
                work(*arguments)
            except Refused as refused:
                if refused.code != NOT_READY:
                    said(name, f"error {refused.code}: {refused}")
                return refused.code
            except Exception as error:
                if error not in SAID:
                    SAID.append(error)
                    said(name, repr(error))
                    print_exc()
                return LAUNCH_FAILURE
        return 0

    return call


def function(table: Table, *kinds: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Puts a function that takes ``kinds`` into ``table``, by its name."""

    def put(work: Callable[..., None]) -> Callable[..., None]:
        table[work.__name__] = ctypes.CFUNCTYPE(Int, *kinds)(guarded(work.__name__, work))
        return work

    return put


def give(kind: Any, address: int, value: Any) -> None:
    kind.from_address(address).value = value


def missing(name: str) -> Any:
    """What says that nobody expected this function to be called."""

    def refuse() -> None:
        raise Refused(NOT_SUPPORTED, "not expected to be called")

    return ctypes.CFUNCTYPE(Int)(guarded(name, refuse))
