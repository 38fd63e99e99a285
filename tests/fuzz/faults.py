"""A fuzzer whose cases fail in every way that a case can fail: what tries the fuzzers themselves."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from random import Random

from netpart.errors import NetpartError
from tests.fuzz.case import Case, Fuzz

KEPT = list[int]()


def raises(error: Exception) -> Callable[[], object]:
    """What raises ``error``."""

    def play() -> None:
        raise error

    return play


def keeps() -> None:
    """Opens a file for good."""
    KEPT.append(os.open(os.devnull, os.O_RDONLY))


def dies() -> None:
    """Ends its process."""
    os.kill(os.getpid(), signal.SIGSEGV)


WAYS: dict[str, Callable[[], object]] = {
    "answered": raises(NetpartError("a.bin: expected this, got that")),
    "accepted": lambda: None,
    "internal": raises(IndexError("list index out of range")),
    "nameless": raises(NetpartError("something went wrong")),
    "hang": signal.pause,
    "leak": keeps,
    "crash": dies,
}


class Faults(Fuzz):
    """One way after another would need the number of a case: it is drawn, as everything is."""

    seconds = 0.2

    def sound(self) -> Iterator[Case]:
        yield Case("nothing", lambda: None)

    def case(self, draw: Random) -> Case:
        way = draw.choice(list(WAYS))
        return Case(way, WAYS[way], ("a.bin",))
