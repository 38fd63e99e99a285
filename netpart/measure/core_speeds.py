"""Core speeds: how fast a core multiplies and streams alone, and while all cores do the same."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from typing import NamedTuple

from netpart.errors import NetpartError
from netpart.launch.teams.processes import process_environment
from netpart.threads import THREAD_VARIABLES

ROUNDS = 8
PROBE = (sys.executable, "-m", "netpart.measure.core_probe")


class CoreSpeeds(NamedTuple):
    """FLOPs and streamed bytes per second of one core alone, and how many times longer either takes beside others."""

    speed: float
    streaming: float
    products_slow: float
    streams_slow: float


def measure_core_speeds(cores: int) -> CoreSpeeds:
    """The speeds of this host's cores, of which ``cores`` are used at once, from a few rounds.

    Each round measures one core alone and then all of them. Of both the fastest round counts, as others only make them
    slower: where this host is a virtual machine, others use its memory, and its cores may be on one real core for some
    seconds, until they are moved apart. Raises NetpartError if a probe ends early.
    """
    with ExitStack() as stack:
        probes = [stack.enter_context(_start_probe()) for _ in range(cores)]
        for probe in probes:
            _read_answer(probe)
        rounds = [_probe_round(probes) for _ in range(ROUNDS)]
        for probe in probes:
            assert probe.stdin is not None
            probe.stdin.close()
    alone, together = ([max(each[what] for each in rates) for what in WHAT] for rates in zip(*rounds, strict=True))
    # Memory and caches can only make what is shared slower; a ratio below 1 is noise.
    return CoreSpeeds(*alone, *(max(1.0, one / all_) for one, all_ in zip(alone, together, strict=True)))


WHAT = ("products", "streams")


def _probe_round(probes: Sequence[subprocess.Popen[str]]) -> tuple[dict[str, float], dict[str, float]]:
    """The rates of the first probe alone, and the mean rates of all at once."""
    alone = {what: _probe_at_once(probes[:1], what) for what in WHAT}
    return alone, {what: _probe_at_once(probes, what) for what in WHAT} if len(probes) > 1 else alone


def _probe_at_once(probes: Sequence[subprocess.Popen[str]], what: str) -> float:
    """The mean rate of some probes that measure at the same time."""
    for probe in probes:
        assert probe.stdin is not None
        probe.stdin.write(f"{what}\n")
        probe.stdin.flush()
    return sum(float(_read_answer(probe)) for probe in probes) / len(probes)


def _start_probe() -> subprocess.Popen[str]:
    """A probe with one thread."""
    environment = os.environ | process_environment() | dict.fromkeys(THREAD_VARIABLES, "1")
    pipe = subprocess.PIPE
    return subprocess.Popen(PROBE, stdin=pipe, stdout=pipe, text=True, env=environment)


def _read_answer(probe: subprocess.Popen[str]) -> str:
    """The next line of a probe."""
    assert probe.stdout is not None
    line = probe.stdout.readline()
    if not line:
        raise NetpartError("calibration: expected an answer of a probe of a core, got none; give the command again")
    return line
