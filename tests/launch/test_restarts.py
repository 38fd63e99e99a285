"""Which failures are repeated, with how many workers, and from where."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from netpart.errors import (
    ConfigError,
    DataError,
    MemoryRefused,
    RunBroken,
    StorageFailed,
    TrainingDiverged,
    WorkerFailed,
    WorkersAbsent,
)
from netpart.launch.report.events import Saved, Started
from netpart.launch.restarts import (
    REJOIN_SECONDS,
    RestartBook,
    RestartChoice,
    RestartState,
    check_restarts,
    parse_restart_state,
)

STARTED = Started("net", 4, 9, 0, 8, (), (), "shm", "", ())
PATIENCE = 600.0


def lost(*ranks: int) -> RunBroken:
    error = RunBroken("worker 1: died")
    error.lost = ranks
    return error


def absent(count: int) -> WorkersAbsent:
    error = WorkersAbsent("worker 2: did not come")
    error.absent = count
    return error


def started_book(workers: int = 4, local: int = 0, least: int = 1, wait: float | None = None) -> RestartBook:
    """The book of a run that trains, of a job that can be cut for ``least`` workers or more."""
    book = RestartBook(RestartChoice(3, wait), workers, local, lambda count: count >= least, PATIENCE)
    book.hear(STARTED)
    return book


def test_fewer_and_fewer_workers() -> None:
    book = started_book()
    assert book.seconds == PATIENCE
    for error, workers in ((lost(1), 3), (lost(0, 2), 1), (lost(0), 4)):  # nobody is left: all are started again
        assert book.repeats(error)
        book.take(error)
        assert book.state.workers == workers
    assert not book.repeats(lost(0))


def test_local_workers_come_first() -> None:
    book = started_book(5, local=2)
    book.take(lost(1, 4))
    assert (book.state.workers, book.state.local) == (3, 1)
    assert book.seconds == REJOIN_SECONDS


def test_as_many_after_a_wait_and_fewer_without_those_that_do_not_come() -> None:
    book = started_book(wait=7.0)
    book.take(lost(1))
    assert (book.state.workers, book.seconds) == (4, 7.0)
    assert book.repeats(absent(2))
    book.take(absent(2))
    assert (book.state.workers, book.state.made) == (2, 1)
    book.take(lost(1))
    assert (book.state.workers, book.state.made) == (4, 2)


def test_a_job_that_needs_its_number_waits_for_it() -> None:
    book = started_book(least=4)
    book.take(lost(1))
    assert (book.state.workers, book.seconds) == (4, PATIENCE)
    error = absent(1)
    assert not book.repeats(error)
    book.advise(error)
    assert "the job needs 4 workers" in error.__notes__[0]


def test_a_run_that_never_worked_is_not_repeated() -> None:
    book = RestartBook(RestartChoice(3), 4, 0, lambda count: True, PATIENCE)
    assert not book.repeats(lost(1))
    assert not book.repeats(absent(1))


@pytest.mark.parametrize(
    "error",
    [
        ConfigError("net", "a", "b"), DataError("data"), MemoryRefused("much"), TrainingDiverged("x", "y", "z"),
        WorkerFailed("worker 1: train step 3, forward mine: ValueError"), RuntimeError("netpart"),
    ],
)  # fmt: skip
def test_errors_of_the_job(error: Exception) -> None:
    book = started_book()
    assert not book.repeats(error)
    book.advise(error)
    assert error.__notes__ == ["--restarts does not repeat this: the job, or what it reads, would cause it again"]


def test_a_full_disk_loses_no_worker() -> None:
    book = started_book()
    assert book.repeats(StorageFailed("no space"))
    book.take(StorageFailed("no space"))
    assert book.state.workers == 4


def test_its_own_newest_checkpoint(tmp_path: Path) -> None:
    told = list[RestartState]()
    book = RestartBook(RestartChoice(3, tell=told.append), 4, 4, lambda count: True, PATIENCE)
    assert book.event(0).checkpoint == ""
    first, second, best = tmp_path / "step1", tmp_path / "step2", tmp_path / "best"
    for path in (first, second, best):
        path.touch()
        book.hear(Saved(1, path, path == best))
    assert book.newest == second
    first.unlink()
    book.hear(Saved(2, second))
    assert book.state.saved == (str(second),)
    assert parse_restart_state(told[-1].text) == told[-1] == book.state


def test_the_state_of_an_earlier_process(tmp_path: Path) -> None:
    begun = RestartState(2, "the coordinator died", 3, 1, ("step4",))
    book = RestartBook(RestartChoice(3, begun=begun), 4, 2, lambda count: True, PATIENCE)
    event = book.event(4)
    assert (event.number, event.limit, event.workers, event.checkpoint) == (2, 3, 3, "step4")
    assert book.repeats(lost(0))
    assert not RestartBook(RestartChoice(3, begun=replace(begun, made=3)), 4, 2, lambda _: True, 1.0).repeats(lost(0))
    assert not RestartBook(RestartChoice(3, begun=begun, elsewhere=True), 4, 2, lambda _: True, 1.0).repeats(lost(0))


@pytest.mark.parametrize("launcher", ["threads", "mpi", "env", "of-a-package"])
def test_launchers_that_cannot_start_workers_again(launcher: str) -> None:
    check_restarts(RestartChoice(), launcher)
    with pytest.raises(ConfigError, match=f"--restarts: expected --launcher local, join, ray, .* got {launcher}"):
        check_restarts(RestartChoice(1), launcher)
