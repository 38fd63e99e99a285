"""A worker or the parent dies or stands still, at any moment: the run ends in time, says why, and leaves nothing."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from time import monotonic

import pytest
from safetensors.numpy import load_file

from netpart.checkpoint.steps import parse_step
from tests.end2end.running import SOON, Run, mlp
from tests.thorough import sampled

WORKERS = 3
DEAD, STOPPED = 1.0, 5.0
"""Seconds within which a run ends after a process has died or was stopped (docs/wire.md): the quickest of some, as
others that want the cores only make it slower. With cores to itself it takes 0.3 s and 4 s."""
ENDLESS = 1_000_000


def moments(seed: int, count: int) -> Iterator[tuple[int, int, str]]:
    """(worker, number of lines told before, transport): the first at start-up, then in and between training steps."""
    random = Random(seed)
    for i in range(count):
        yield i % WORKERS, 1 if i == 0 else random.randint(2, 12 if i % 2 else 200), ("shm", "zeromq")[i // 2 % 2]


MOMENTS = 12
"""Every worker over every transport, at both kinds of moment."""
KILLS, STOPS, PARENTS = (list(moments(seed, MOMENTS)) for seed in (1, 2, 3))


def check_blame(run: Run, rank: int, what: str) -> None:
    """One message: worker, what it was doing, phase and step, the end of its log."""
    message = run.failure()
    where = r"last heard in (before step 0|train step \d+|test step \d+), \S+"
    assert re.match(rf"worker {rank}: {what}.*{where}", message), message
    if any(told.get("message") == "hello" and told.get("rank") == rank for told in run.told):
        assert f"last lines of its log:\nworker {rank}: process " in message
    assert run.errors() == ""
    assert not list(run.workspace.glob("checkpoint/*.partial"))


@pytest.mark.parametrize(("rank", "lines", "transport"), sampled(KILLS, 3))
def test_kill_9_of_a_worker(tmp_path: Path, rank: int, lines: int, transport: str) -> None:
    with Run(mlp(tmp_path, train_steps=ENDLESS), WORKERS, tmp_path / "run", transport=transport) as run:
        run.until_told(lines)
        began = run.signal(signal.SIGKILL, rank)
        code = run.end()
        assert monotonic() - began <= SOON
        assert code == 1
        check_blame(run, rank, r"died \(signal 9, SIGKILL")
        run.check_nothing_is_left()


@pytest.mark.parametrize(("rank", "lines", "transport"), sampled(PARENTS, 3))
def test_kill_9_of_the_parent(tmp_path: Path, rank: int, lines: int, transport: str) -> None:
    with Run(mlp(tmp_path, train_steps=ENDLESS), WORKERS, tmp_path / "run", transport=transport) as run:
        run.until_told(lines)
        run.signal(signal.SIGKILL)
        run.await_workers(SOON)
        run.end()
        run.check_nothing_is_left()
        for path in run.workspace.glob("checkpoint/*.safetensors"):
            assert load_file(path).keys() == {"fc1/w1", "fc1/b1", "fc2/weight", "fc2/bias"}


@pytest.mark.alone
@pytest.mark.parametrize("launcher", ["local", "mpi"])
def test_a_death_is_known_at_once(tmp_path: Path, launcher: str) -> None:
    def seconds(rank: int) -> float:
        with Run(mlp(tmp_path, train_steps=ENDLESS), WORKERS, tmp_path / str(rank), launcher=launcher) as run:
            run.until(lambda told: told["kind"] == "Measured")
            began = run.signal(signal.SIGKILL, rank)
            assert run.end() == 1
            return monotonic() - began

    assert any(seconds(rank) <= DEAD for rank in range(WORKERS))


@pytest.mark.alone
def test_workers_end_with_their_parent_at_once(tmp_path: Path) -> None:
    def seconds(number: int) -> float:
        with Run(mlp(tmp_path, train_steps=ENDLESS), WORKERS, tmp_path / str(number)) as run:
            run.until(lambda told: told["kind"] == "Measured")
            began = run.signal(signal.SIGKILL)
            run.await_workers(SOON)
            return monotonic() - began

    assert any(seconds(number) <= DEAD for number in range(3))


def stop_a_worker(folder: Path, rank: int, lines: int, transport: str) -> float:
    """How long the run then takes to end, in seconds."""
    folder.mkdir()
    with Run(mlp(folder, train_steps=ENDLESS), WORKERS, folder / "run", transport=transport) as run:
        run.until_told(lines)
        began = run.signal(signal.SIGSTOP, rank)
        code, seconds = run.end(), monotonic() - began
        assert seconds <= SOON
        assert code == 1
        check_blame(run, rank, r"stopped, or its link is lost: not heard for \d+\.\d s")
        run.check_nothing_is_left()
    return seconds


@pytest.mark.alone
def test_sigstop_of_a_worker(tmp_path: Path) -> None:
    """All moments at once: a run with a stopped worker costs no processor time."""
    with ThreadPoolExecutor(5) as pool:
        started = [pool.submit(stop_a_worker, tmp_path / str(i), *moment) for i, moment in enumerate(STOPS)]
        assert min([future.result() for future in started]) <= STOPPED


@pytest.mark.parametrize("launcher", ["local", "threads"])
def test_ctrl_c(tmp_path: Path, launcher: str) -> None:
    with Run(mlp(tmp_path, train_steps=ENDLESS), WORKERS, tmp_path / "run", launcher=launcher) as run:
        run.until(lambda told: told["kind"] == "Saved" and told["step"] >= 8)
        run.signal(signal.SIGINT)
        assert run.end() == 130
        (said,) = run.of("interrupted")
        step, saved = re.match(
            r"interrupted in step (\d+) of 1000000; the latest checkpoint is (\S+),", said["message"]
        ).groups()  # type: ignore[union-attr]
        assert int(step) >= 0
        assert Path(saved).exists()
        assert not list(run.workspace.glob("checkpoint/*.partial"))
        assert run.errors() == ""


ENDINGS = [(signal.SIGTERM, 1), (signal.SIGHUP, 1), (signal.SIGUSR2, 1), (signal.SIGQUIT, 1), (signal.SIGINT, 2)]
"""Signals, and how often each is sent: `timeout -s INT` sends two, and a person may press Ctrl-C twice."""


@pytest.mark.parametrize(("number", "times"), sampled(ENDINGS, 3))
def test_any_signal_that_would_end_it_is_answered_as_ctrl_c(tmp_path: Path, number: signal.Signals, times: int) -> None:
    """While files are put in place: the last worker has just said that it has written."""
    with Run(mlp(tmp_path, train_steps=ENDLESS, checkpoint_freq=1), WORKERS, tmp_path / "run") as run:
        written = [run.until(lambda told: told.get("message") == "checkpoint_written") for _ in range(3 * WORKERS)]
        for _ in range(times):
            run.signal(number)
        assert run.end() == 128 + number
        (said,) = run.of("interrupted")
        by = "" if number == signal.SIGINT else f" by {number.name}"
        step, saved = re.match(
            rf"interrupted{by} in step (\d+) of 1000000; the latest checkpoint is (\S+), --resume", said["message"]
        ).groups()  # type: ignore[union-attr]
        steps = [told["step"] for told in written]
        whole = max(s for s in steps if steps.count(s) == WORKERS)  # a quick worker may be ahead of the others
        assert int(step) >= parse_step(Path(saved)) >= whole - 1
        load_file(saved)
        assert not list(run.workspace.glob("checkpoint/*.partial"))
        assert ("most recent call first" in run.errors()) == (number == signal.SIGQUIT)
        run.check_nothing_is_left()


@pytest.mark.alone
def test_a_coordinator_that_was_suspended_blames_nobody(tmp_path: Path) -> None:
    """Ctrl-Z and fg: the workers go on meanwhile until they need the coordinator."""
    with Run(mlp(tmp_path, train_steps=ENDLESS), WORKERS, tmp_path / "run") as run:
        run.until(lambda told: told["kind"] == "Measured")
        run.signal(signal.SIGSTOP)
        run.await_silence(4.5)
        run.signal(signal.SIGCONT)
        step = run.until(lambda told: told["kind"] == "Measured")["step"]
        run.until(lambda told: told["kind"] == "Measured" and told["step"] > step + 50)
        assert not run.of("failed")
