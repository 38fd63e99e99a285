"""One process of a long run: plays some cases and writes what became of each, a line of JSON per case."""

from __future__ import annotations

import json
import os
import sys
import traceback
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TextIO

from tests.fuzz.case import FINE, Fuzz, Kind
from tests.fuzz.holdings import resident
from tests.fuzz.names import fuzzer
from tests.fuzz.play import tried, warmed

GROWTH = 96 << 20
"""Bytes that a process may come to touch after the first part of its cases."""
PART = 4
"""Into so many parts the cases of a process are divided, to see if its memory grows."""


def main(name: str, seed: int, first: int, last: int) -> int:
    """Plays cases ``first`` to ``last`` (excluded)."""
    told, errors = (os.fdopen(os.dup(stream), "w") for stream in (1, 2))
    nothing = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):  # what netpart and its libraries print goes where nobody reads it
        os.dup2(nothing, stream)
    os.close(nothing)
    try:
        with TemporaryDirectory(prefix="netpart-fuzz-") as folder:
            play(name, seed, range(first, last), Path(folder), told)
    except BaseException as error:  # a fuzzer that is wrong itself
        traceback.print_exception(error, file=errors)
        return 1
    return 0


def play(name: str, seed: int, numbers: range, folder: Path, told: TextIO) -> None:
    """Plays cases by their numbers, and says at the end if memory has grown."""
    with closing(fuzzer(name, folder)) as fuzz:
        play_all(warmed(fuzz), name, seed, numbers, told)
    say(told, number=-1, kind="done")


def play_all(fuzz: Fuzz, name: str, seed: int, numbers: range, told: TextIO) -> None:
    """Plays cases by their numbers with ``fuzz``."""
    say(told, number=-1, kind="ready")
    before = 0
    for number in numbers:
        case, outcome = tried(fuzz, name, seed, number)
        fine = outcome.kind in FINE
        say(told, number=number, kind=outcome.kind, **({} if fine else {"what": case.what, "text": outcome.text}))
        if number - numbers.start == len(numbers) // PART:
            before = resident()
    grown = resident() - before if before else 0
    if grown > GROWTH:
        text = f"{grown >> 20} MiB more than after the first {len(numbers) // PART} cases"
        say(told, number=numbers[-1], kind=Kind.LEAK, what="memory", text=text)


def say(told: TextIO, **words: object) -> None:
    """Writes one line at once: it must be there if the next case ends the process."""
    told.write(json.dumps(words) + "\n")
    told.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], *map(int, sys.argv[2:5])))
