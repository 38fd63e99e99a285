"""Workers that mpiexec starts compute what local ones do; whoever dies or stands still ends the run in time."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from pathlib import Path
from random import Random
from time import monotonic

import pytest

from netpart.launch.control.cores import child_thread_variables
from netpart.threads import kernel_threads
from tests.end2end.running import SOON, Run, mlp
from tests.end2end.test_failures import ENDLESS, WORKERS, check_blame
from tests.thorough import sampled


def moments(seed: int, count: int) -> Iterator[tuple[int, int]]:
    """(worker, number of lines told before)."""
    random = Random(seed)
    for i in range(count):
        yield i % WORKERS, random.randint(2, 12 if i % 2 else 200)


KILLS, STOPS, PARENTS = (list(moments(seed, count)) for seed, count in ((1, 6), (2, 3), (3, 6)))


def checkpoints(workspace: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (workspace / "checkpoint").iterdir()}


@pytest.mark.parametrize("workers", sampled([2, 1, 4], 3))
def test_mpi_and_local_agree_bit_for_bit(tmp_path: Path, workers: int) -> None:
    conf = mlp(tmp_path, dtype="FLOAT32", bucket_bytes=64)
    with Run(conf, workers, tmp_path / "mpi", launcher="mpi") as run:
        assert run.end() == 0, run.errors()
        run.check_nothing_is_left()
        (spawned,), (summary,) = run.of("spawned"), run.of("Summary")
        assert spawned["names"] == []
        assert summary["bytes_counted"] == summary["bytes_predicted"]
        assert run.of("Started")[0]["threads"] == [kernel_threads(child_thread_variables(workers))] * workers
        assert run.errors() == ""
    with Run(conf, workers, tmp_path / "local") as run:
        assert run.end() == 0
    assert checkpoints(tmp_path / "mpi") == checkpoints(tmp_path / "local")
    assert len(checkpoints(tmp_path / "mpi")) == 8
    for rank in range(workers):
        assert (tmp_path / "mpi" / "log" / f"worker-{rank}.log").read_text().startswith(f"worker {rank}: process ")


def test_messages_that_are_larger_than_mpi_keeps_arrive_at_the_end(tmp_path: Path) -> None:
    """The last message of a run leaves although its sender has nothing to do any more but wait for the farewell."""
    sizes = ["neuralnet.partition_dim=1", "fc1.partition_dim=1", "fc1.innerproduct_conf.num_output=300000"]
    with Run(mlp(tmp_path, train_steps=2), 2, tmp_path / "run", launcher="mpi", set=sizes) as run:
        assert run.end() == 0, run.told[-1]
        (summary,) = run.of("Summary")
        assert summary["bytes_counted"] == summary["bytes_predicted"] > 10_000_000


@pytest.mark.parametrize(("rank", "lines"), sampled(KILLS, 4))
def test_kill_9_of_a_rank(tmp_path: Path, rank: int, lines: int) -> None:
    with Run(mlp(tmp_path, train_steps=ENDLESS), WORKERS, tmp_path / "run", launcher="mpi") as run:
        run.until_told(lines)
        began = run.signal(signal.SIGKILL, rank)
        code = run.end()
        assert monotonic() - began <= SOON
        assert code == 1
        check_blame(run, rank, r"died \(signal 9, SIGKILL")
        run.check_nothing_is_left()


@pytest.mark.parametrize(("rank", "lines"), sampled(STOPS, 4))
def test_sigstop_of_a_rank(tmp_path: Path, rank: int, lines: int) -> None:
    with Run(mlp(tmp_path, train_steps=ENDLESS), WORKERS, tmp_path / "run", launcher="mpi") as run:
        run.until_told(lines)
        began = run.signal(signal.SIGSTOP, rank)
        code = run.end()
        assert monotonic() - began <= SOON
        assert code == 1
        check_blame(run, rank, r"stopped, or its link is lost: not heard for \d+\.\d s")
        run.check_nothing_is_left()


@pytest.mark.parametrize(("rank", "lines"), sampled(PARENTS, 4))
def test_kill_9_of_the_parent(tmp_path: Path, rank: int, lines: int) -> None:
    """Also when a rank stands still meanwhile."""
    with Run(mlp(tmp_path, train_steps=ENDLESS), WORKERS, tmp_path / "run", launcher="mpi") as run:
        run.until_told(lines)
        if lines % 2:
            run.signal(signal.SIGSTOP, rank)
        run.signal(signal.SIGKILL)
        run.await_workers(SOON)
        run.end()
        run.check_nothing_is_left()


def test_kill_9_of_mpiexec(tmp_path: Path) -> None:
    with Run(mlp(tmp_path, train_steps=ENDLESS), WORKERS, tmp_path / "run", launcher="mpi") as run:
        run.until(lambda told: told["kind"] == "Measured")
        began = run.signal(signal.SIGKILL, WORKERS)
        assert run.end() == 1
        assert monotonic() - began <= SOON
        assert "mpiexec, that is: signal 9, SIGKILL" in run.failure()
        run.check_nothing_is_left()


def test_ctrl_c(tmp_path: Path) -> None:
    with Run(mlp(tmp_path, train_steps=ENDLESS), WORKERS, tmp_path / "run", launcher="mpi") as run:
        run.until(lambda told: told["kind"] == "Saved" and told["step"] >= 8)
        run.signal(signal.SIGINT)
        assert run.end() == 130
        run.check_nothing_is_left()
        assert not list(run.workspace.glob("checkpoint/*.partial"))
        assert run.errors() == ""


def test_a_rank_that_cannot_start_ends_the_run_with_its_log(tmp_path: Path) -> None:
    broken = {"MPI4PY_LIBMPI": str(tmp_path / "libmpi.so")}
    with Run(mlp(tmp_path), 2, tmp_path / "run", environment=broken, launcher="mpi") as run:
        assert run.end() == 1
        message = run.failure()
    assert re.match(r"worker [01]: died \(exit code 1\), last heard in before step 0, starting\n", message), message
    assert re.search(r"expected mpi4py and a library of MPI, got: .*libmpi\.so.* pip install 'netpart\[mpi\]'", message)
