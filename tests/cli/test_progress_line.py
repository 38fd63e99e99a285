"""The progress line: on a terminal after some seconds, gone at the end, and never in a pipe."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from threading import Event
from time import perf_counter

import pytest

from netpart.cli import progress_line
from netpart.cli.progress_line import CLEAR, ProgressLine, show_progress
from tests.thorough import sampled

GRAPHS = Path(__file__).parents[2] / "graphs"
JOB = str(GRAPHS / "mnist/conv.conf")
QUICK = """
import sys
from netpart.cli import progress_line
from netpart.cli.main import main
progress_line.SILENT, progress_line.EVERY = 0.0, 0.01
sys.exit(main(sys.argv[1:]))
"""


def test_a_verb_on_a_terminal_shows_what_it_is_at() -> None:
    master, terminal = pty.openpty()
    command = [sys.executable, "-c", QUICK, "check", JOB, "--workers", "8", "--scheme", "data"]
    with subprocess.Popen(command, stderr=terminal, stdout=subprocess.PIPE) as process:
        os.close(terminal)
        assert process.stdout is not None
        table = process.stdout.read()
        shown = read_terminal(master)
    assert process.returncode == 0
    assert b"of 8" in shown
    assert b" s  " in shown
    assert shown.rstrip().endswith(CLEAR.strip().encode()), "the line is gone at the end"
    assert b"conv1" in table
    assert b"\x1b" not in table


def test_a_verb_in_a_pipe_shows_nothing() -> None:
    command = [sys.executable, "-c", QUICK, "check", JOB, "--workers", "8", "--scheme", "data"]
    done = subprocess.run(command, capture_output=True, check=True)
    assert done.stderr == b""


def test_short_work_shows_nothing_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(ProgressLine, "_write", lambda _, text: written.append(text))
    monkeypatch.setattr(ProgressLine, "silent_from", perf_counter())
    with show_progress("something"):
        pass
    assert progress_line.SILENT == 1.0
    assert written == []


@pytest.mark.alone
@pytest.mark.parametrize("words", sampled(["partition", "check", "simulate --by flops --steps 1 --link 50e-6,1e9"], 3))
def test_a_verb_is_not_silent_for_two_seconds(words: str) -> None:
    """From its start to its end, on a terminal for all that it writes."""
    verb, *options = words.split()
    command = [sys.executable, "-m", "netpart", verb, str(GRAPHS / "resnet/resnet50.conf"), "--workers", "64"]
    times, shown = terminal_times([*command, "--scheme", "data", *options])
    assert times[-1] - times[0] > 2.0, "else nothing is tested: name a larger net"
    assert b" of 64" in shown
    assert max(after - before for before, after in pairwise(times)) < 2.0


def test_the_time_left_follows_from_the_share_that_is_done() -> None:
    line = ProgressLine("cutting")
    line.started = line.part_started = 100.0
    line.hear("layer 1 of 10", 0.0)
    line.part_started = 103.0
    assert line.line(104.0) == "4 s  layer 1 of 10"
    line.hear("layer 3 of 10", 0.2)
    assert line.line(105.0) == "5 s  layer 3 of 10, 8.0 s left"
    line.hear("writing")
    assert line.line(106.0) == "6 s  writing"


def test_silence_counts_from_the_line_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two pieces of work in a row, each shorter than the silence, the second shows what it is at."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    shown = Event()
    monkeypatch.setattr(ProgressLine, "_write", lambda _, text: shown.set() if "second" in text else None)
    monkeypatch.setattr(ProgressLine, "silent_from", perf_counter() - progress_line.SILENT)
    with show_progress("second"):
        assert shown.wait(progress_line.SILENT / 2)


def terminal_times(command: list[str]) -> tuple[list[float], bytes]:
    """When a command began, when it wrote to its terminal, and when it ended; and all that it wrote."""
    master, terminal = pty.openpty()
    times, found = [perf_counter()], b""
    with subprocess.Popen(command, stdout=terminal, stderr=terminal) as process:
        os.close(terminal)
        with suppress(OSError):  # Linux reports the closed end as an error
            while piece := os.read(master, 1 << 16):
                times.append(perf_counter())
                found += piece
    os.close(master)
    assert process.returncode == 0, found[-500:]
    return [*times, perf_counter()], found


def read_terminal(master: int) -> bytes:
    """All that was written to a terminal whose other end is closed."""
    found = b""
    try:
        while piece := os.read(master, 1 << 16):
            found += piece
    except OSError:  # Linux reports the closed end as an error
        pass
    os.close(master)
    return found
