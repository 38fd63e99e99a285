"""What a fuzzer is: a source of cases, each of which must be answered in words or carried out."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class Kind(StrEnum):
    """What became of a case; all but the first two are failures."""

    ANSWERED = "answered"
    ACCEPTED = "accepted"
    INTERNAL = "internal"
    NAMELESS = "nameless"
    HANG = "hang"
    LEAK = "leak"
    CRASH = "crash"


FINE = (Kind.ANSWERED, Kind.ACCEPTED)


@dataclass(frozen=True)
class Outcome:
    """What became of a case, and how: the words of the answer, or the end of a traceback."""

    kind: Kind
    text: str = ""


@dataclass(frozen=True)
class Case:
    """``play`` does what is tried, and ``what`` says it in words; an answer has one of ``names`` in it."""

    what: str
    play: Callable[[], object]
    names: tuple[str, ...] = (": ",)


class Fuzz(ABC):
    """A source of cases that work in ``folder``, which is empty at first.

    ``seconds`` is what a case may take, on a machine that is busy.
    """

    seconds: float = 10.0

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @abstractmethod
    def sound(self) -> Iterator[Case]:
        """Cases in which nothing is wrong: each is carried out."""

    def close(self) -> None:
        """Lets go of what all cases share."""
        return

    @abstractmethod
    def case(self, draw: random.Random) -> Case:
        """A case; the same one for the same state of ``draw``."""


def random_of(name: str, seed: int, number: int) -> random.Random:
    """The random numbers of case ``number``, which depend on no other case."""
    return random.Random(f"{name} {seed} {number}")
