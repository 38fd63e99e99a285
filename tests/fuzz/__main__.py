"""python -m tests.fuzz: plays many cases of each fuzzer, shows every failure, and counts."""

from __future__ import annotations

import argparse
import os
import sys

from tests.fuzz.long import Tally, run
from tests.fuzz.names import FUZZERS, OTHERS

DEFAULT = 2000
SHOWN = 40
"""Failures of one fuzzer that are shown."""


def options(words: list[str]) -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(prog="make fuzz", description=__doc__)
    known = [*FUZZERS, *OTHERS]
    parser.add_argument("--what", action="append", choices=known, help="a fuzzer; may be repeated (default: all)")
    parser.add_argument("--cases", type=int, default=DEFAULT, help=f"of each (default: {DEFAULT})")
    parser.add_argument("--seed", type=int, default=1, help="other cases for another one (default: 1)")
    parser.add_argument("--first", type=int, default=0, help="number of the first case (default: 0)")
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)), help="at a time")
    return parser.parse_args(words)


def main(words: list[str]) -> int:
    """Runs the fuzzers one after another; 1 if a case failed."""
    asked = options(words)
    tallies = [
        shown(run(name, asked.seed, asked.first, asked.cases, asked.processes)) for name in asked.what or FUZZERS
    ]
    return int(any(tally.failures for tally in tallies))


def shown(tally: Tally) -> Tally:
    """Prints a tally, its failures first."""
    for failure in tally.failures[:SHOWN]:
        print(f"{failure}\n", flush=True)
    if len(tally.failures) > SHOWN:
        print(f"and {len(tally.failures) - SHOWN} failures more\n")
    print(tally.line(), flush=True)
    return tally


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
