"""Plays cases in this process, and says what became of each."""

from __future__ import annotations

import resource
import signal
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import numpy as np

from netpart.errors import NetpartError
from tests.fuzz.case import Case, Fuzz, Kind, Outcome, random_of
from tests.fuzz.holdings import held, left_behind

ROOM = 4 << 30
"""Bytes of address space that no small case needs."""
LONGEST = 3000
"""Characters of an answer."""
TOLD = 6
"""Lines of a traceback that are shown."""


class Late(BaseException):
    """A case that takes too long. Nothing that handles errors handles it."""


@contextmanager
def bounded(seconds: float) -> Iterator[None]:
    """Raises Late in what takes longer, and refuses memory beyond ROOM."""

    def late(number: int, frame: FrameType | None) -> None:
        raise Late(f"no answer in {seconds:g} s")

    before, limits = signal.signal(signal.SIGALRM, late), resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + ROOM, limits[1]))
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        resource.setrlimit(resource.RLIMIT_AS, limits)


def played(case: Case, seconds: float) -> Outcome:
    """What becomes of ``case``."""
    try:
        with bounded(seconds), np.errstate(all="ignore"):
            case.play()
    except NetpartError as error:
        return judged(case, str(error))
    except Late as error:
        return Outcome(Kind.HANG, f"{error}\n{end_of(error)}")
    except Exception as error:
        return Outcome(Kind.INTERNAL, end_of(error))
    return Outcome(Kind.ACCEPTED)


def judged(case: Case, said: str) -> Outcome:
    """An answer names who is at fault, and can be read."""
    known = any(name in said for name in case.names) and len(said) < LONGEST
    return Outcome(Kind.ANSWERED if known else Kind.NAMELESS, said[:LONGEST])


def end_of(error: BaseException) -> str:
    """Where an error was raised, and what it says."""
    lines = "".join(traceback.format_exception(error)).splitlines()
    return "\n".join(lines[-2 * TOLD :])


def tried(fuzz: Fuzz, name: str, seed: int, number: int) -> tuple[Case, Outcome]:
    """Case ``number`` and what becomes of it, what it leaves behind included."""
    case, before = fuzz.case(random_of(name, seed, number)), held()
    outcome = played(case, fuzz.seconds)
    if found := left_behind(before):
        return case, Outcome(Kind.LEAK, f"left behind: {found}\n{outcome.text}")
    return case, outcome


def warmed(fuzz: Fuzz) -> Fuzz:
    """``fuzz`` after its sound cases, each of which must be carried out: what is loaded once is no leak."""
    for case in fuzz.sound():
        outcome = played(case, 10 * fuzz.seconds)
        if outcome.kind is not Kind.ACCEPTED:
            raise AssertionError(f"a sound case, {case.what}, was not carried out: {outcome.text}")
    return fuzz
