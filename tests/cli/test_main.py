"""The command itself: verbs, exit codes, one message per error, and quiet ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import netpart as front_door
from netpart.cli import main as command
from netpart.errors import NetpartError
from tests.cli.conftest import Netpart
from tests.house.tree import ROOT
from tests.thorough import sampled


def raising(error: BaseException) -> object:
    def call(_: object) -> int:
        raise error

    return call


def test_help_names_every_verb(netpart: Netpart) -> None:
    answer = netpart("--help")
    assert answer.code == 0
    assert set(command.VERBS) <= {line.split()[0] for line in answer.out.splitlines() if line.startswith("    ")}


@pytest.mark.parametrize("verb", command.VERBS)
def test_every_verb_has_help(verb: str, netpart: Netpart) -> None:
    answer = netpart(verb, "--help")
    assert answer.code == 0
    assert answer.out.startswith(f"usage: netpart {verb}")


def test_version(netpart: Netpart) -> None:
    assert netpart("--version").out == f"netpart {front_door.__version__}\n"


def test_a_verb_is_needed(netpart: Netpart) -> None:
    answer = netpart()
    assert (answer.code, answer.out) == (2, "")
    assert "train a job on its workers" in answer.err


def test_an_unknown_verb_is_told_the_nearest(netpart: Netpart) -> None:
    answer = netpart("rnu", "job.conf")
    assert answer.code == 2
    assert answer.err.endswith("error: expected a verb, got 'rnu'; did you mean run?\n")
    assert netpart("zzz").err.endswith("got 'zzz'; netpart --help lists them\n")


@pytest.mark.parametrize("workers", ["0", "-1", "two", "1.5"])
def test_workers_are_counted_from_1(workers: str, job: Path, netpart: Netpart) -> None:
    answer = netpart("check", job, f"--workers={workers}")
    assert answer.code == 2
    assert f"expected a whole number from 1 to 4096, got '{workers}'" in answer.err


def test_an_unknown_option_is_answered_by_its_verb(job: Path, netpart: Netpart) -> None:
    answer = netpart("check", job, "--sheme", "data")
    assert answer.code == 2
    assert answer.err == "error: unknown: --sheme data; did you mean --scheme?\n"


def test_a_seed_fits_its_field(job: Path, netpart: Netpart) -> None:
    answer = netpart("check", job, "--seed=-1")
    said = "error: --seed: expected a whole number from 0 to 2^64 - 1, got -1; choose another number\n"
    assert (answer.code, answer.err) == (2, said)


USED = "expected a file or folder that can be used"


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (NetpartError("it went wrong"), 1, "error: it went wrong\n"),
        (
            PermissionError(13, "Permission denied", "x.svg"),
            1,
            f"error: x.svg: {USED}, got permission denied; allow it with chmod, or name another path\n",
        ),
        (
            OSError(28, "No space left on device"),
            1,
            f"error: output: {USED}, got no space left on device; free some where it writes, and start it again\n",
        ),
        (KeyError("x"), 1, "error: netpart itself failed: KeyError('x'); NETPART_DEBUG=1 shows where\n"),
        (KeyboardInterrupt(), 130, "error: interrupted\n"),
        (KeyboardInterrupt("interrupted in step 7"), 130, "error: interrupted in step 7\n"),
    ],
)
def test_what_goes_wrong_is_one_message(
    error: BaseException, code: int, message: str, netpart: Netpart, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("netpart.cli.zoo.run_verb", raising(error))
    answer = netpart("zoo")
    assert (answer.code, answer.err) == (code, message)


def test_ctrl_c_while_it_begins(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(command, "parse_command_line", raising(KeyboardInterrupt()))
    assert command.main(["zoo"]) == 130
    assert capsys.readouterr().err == "error: interrupted\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1])
def test_every_signal_that_would_end_it_is_answered_as_ctrl_c_is(number: signal.Signals) -> None:
    killed = f"m.parse_command_line = lambda argv: os.kill(os.getpid(), {number:d})"
    code = f"import os; from netpart.cli import main as m; {killed}; raise SystemExit(m.main())"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True)
    assert done.returncode == 128 + number
    assert done.stderr.decode().endswith(f"error: interrupted by {number.name}\n")
    assert (b"most recent call first" in done.stderr) == (number == signal.SIGQUIT)


def test_what_an_encoding_lacks_is_shown_as_a_question_mark() -> None:
    words = [sys.executable, "-m", "netpart", "explain", "graphs/halo/conv-rows.conf", "conv2"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, env=os.environ | {"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0
    assert b"  1 ? 0  " in done.stdout


@pytest.mark.parametrize("closed", sampled([">&- 2>&-", ">&-", "2>&-"], 3))
def test_a_closed_stream_is_written_to_by_nobody(closed: str, job: Path) -> None:
    for options, code in (("", 0), ("--seed=-1", 2)):
        words = f'"$0" -m netpart check "$1" {options} {closed}'
        done = subprocess.run(["sh", "-c", words, sys.executable, str(job)], cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == code
        assert "Error" not in done.stderr + done.stdout
        assert ("error: --seed" in done.stderr) == (code == 2 and "2>" not in closed)


def test_debugging_keeps_the_traceback(netpart: Netpart, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("netpart.cli.zoo.run_verb", raising(NetpartError("it went wrong")))
    monkeypatch.setenv("NETPART_DEBUG", "1")
    with pytest.raises(NetpartError, match="it went wrong"):
        netpart("zoo")


def test_colours_are_for_terminals(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    command.print_error("plain")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.delenv("NO_COLOR", raising=False)
    command.print_error("red")
    monkeypatch.setenv("NO_COLOR", "1")
    command.print_error("no colour")
    assert capsys.readouterr().err.splitlines() == ["error: plain", "\033[1;31merror:\033[0m red", "error: no colour"]


def test_a_closed_pipe_ends_quietly(job: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "netpart", "draw", str(job), "--workers", "2"]
    with os.fdopen(writer, "wb") as pipe:
        result = subprocess.run(command, cwd=ROOT, stdout=pipe, stderr=subprocess.PIPE)
    assert (result.returncode, result.stderr) == (1, b"")


LEFT = """
import sys, threading
from netpart.cli import main
from netpart.errors import ThreadLeft

def stuck(argv):
    threading.Thread(target=threading.Event().wait).start()
    raise ThreadLeft("no answer")

main.parse_command_line = stuck
sys.exit(main.main())
"""


def test_a_thread_that_waits_in_a_library_does_not_keep_the_command() -> None:
    ended = subprocess.run([sys.executable, "-c", LEFT], capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stderr) == (1, "error: no answer\n")


ENDED = """
import atexit, gc, sys
from netpart.cli.main import main
sys.argv = ["netpart", "check", sys.argv[1]]
atexit.register(lambda: print("frozen", gc.get_freeze_count() > 1000))
raise SystemExit(main())
"""


def test_a_command_ends_without_a_look_at_its_objects(job: Path) -> None:
    """The collector of a process that ends would look at each of the millions that a plan for many workers leaves."""
    done = subprocess.run([sys.executable, "-c", ENDED, str(job)], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("frozen True\n")
