"""A run that fails starts again from its checkpoint, with fewer workers or as many, and ends with equal parameters."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from random import Random

import pytest

from netpart.launch.report.events import Event
from netpart.launch.restarts import RestartChoice
from netpart.launch.run import run_job
from netpart.proto.reader import read_job
from tests.end2end.ray_runs import await_true
from tests.end2end.restarted import LONG, RestartedRun, children, end_of, free_port, is_alive, send_signal
from tests.end2end.running import mlp
from tests.end2end.test_runs import Tensors, compare, saved
from tests.house.tree import ROOT
from tests.thorough import sampled

SAME = 1e-10
"""Largest relative difference to the parameters of a run that does not fail (float64)."""
STEPS = 24
EVENTS = ("disp_freq=1", "checkpoint_freq=5", "test_freq=0", "validate_freq=0", "dtype=FLOAT64")
JOBS = {
    "lenet": ROOT / "graphs/mnist/conv.conf",
    "resnet18": ROOT / "graphs/resnet/resnet18-small.conf",
    "gpt": ROOT / "graphs/gpt/tiny.conf",
}


def settings(*others: str) -> list[str]:
    return [word for change in (*EVENTS, *others) for word in ("--set", change)]


def faults(seed: int) -> Sequence[tuple[str, int, str]]:
    """(job, step, who: a rank or the coordinator), all of them, at steps without a pattern."""
    random = Random(seed)
    return [(job, random.randint(2, STEPS - 3), who) for job, who in product(JOBS, ("0", "1", "2", "coordinator"))]


def check_ends_alike(run: RestartedRun, conf: Path, folder: Path, *changes: str, steps: int = STEPS) -> None:
    """The run has the parameters of one that did not fail, and lists each step and each restart once."""
    run_job(read_job(conf, [*changes, f"train_steps={steps}"]), 3, workspace=folder)
    compare(saved(run.workspace, steps), saved(folder, steps), SAME)
    compare(updater(run.workspace, steps), updater(folder, steps), SAME)
    steps_listed = [line["step"] for line in run.lines() if line.get("phase") == "train"]
    assert steps_listed == list(range(1, steps + 1))


def updater(workspace: Path, step: int) -> Tensors:
    from safetensors.numpy import load_file

    path = workspace / "checkpoint" / f"step{step:08d}.updater"
    return dict(load_file(path)) if path.exists() else {}


@pytest.mark.parametrize(("name", "step", "who"), sampled(faults(17), 12))
def test_kill_9_with_fewer_workers_afterwards(tmp_path: Path, name: str, step: int, who: str) -> None:
    conf, options = JOBS[name], ("--workers", "3", "--restarts", "2", "--steps", str(STEPS), *settings())
    with RestartedRun(conf, tmp_path / "run", *options) as run:
        run.reach(step)
        known = [run.coordinator(), *run.workers()]
        send_signal(run.coordinator() if who == "coordinator" else run.workers()[int(who)], signal.SIGKILL)
        run.run.until(r"^Restart 1 of 2 @ step \d+  cut for [23] workers", LONG)
        known += [run.coordinator(), *run.workers()]
        said = run.finish()
        run.check_nothing_is_left(known)
    left = 3 if who == "coordinator" else 2
    assert f"cut for {left} workers; goes on from" in said or "begins anew" in said
    (again,) = [line for line in run.lines() if "restart" in line]
    assert again["workers"] == left
    assert again["step"] % 5 == 0
    check_ends_alike(run, conf, tmp_path / "whole", *EVENTS)


@pytest.mark.thorough
@pytest.mark.parametrize("rank", range(3))
def test_a_worker_that_is_stopped(tmp_path: Path, rank: int) -> None:
    conf = mlp(tmp_path, train_steps=STEPS, dtype="FLOAT64")
    with RestartedRun(conf, tmp_path / "run", "--workers", "3", "--restarts", "1", *settings()) as run:
        run.run.until(r"^Saved .*step00000000", LONG)
        stopped = run.workers()[rank]
        send_signal(stopped, signal.SIGSTOP)
        said = run.finish()
        run.check_nothing_is_left([stopped])
    assert f"worker {rank}: stopped, or its link is lost" in said
    check_ends_alike(run, conf, tmp_path / "whole", *EVENTS)


@pytest.mark.thorough
def test_as_many_workers_with_wait_and_several_failures(tmp_path: Path) -> None:
    """A worker, the coordinator, a worker again: the same cut, so the same bits."""
    conf = mlp(tmp_path, train_steps=400, dtype="FLOAT64")
    changes = (*EVENTS[1:], "disp_freq=1", "checkpoint_freq=50")
    options = ("--workers", "3", "--restarts", "3", "--wait", "20", *settings("checkpoint_freq=50"))
    with RestartedRun(conf, tmp_path / "run", *options) as run:
        for step, rank in ((60, 2), (170, None), (290, 0)):
            run.reach(step)
            send_signal(run.coordinator() if rank is None else run.workers()[rank], signal.SIGKILL)
        run.finish()
    assert [line["workers"] for line in run.lines() if "restart" in line] == [3, 3, 3]
    check_ends_alike(run, conf, tmp_path / "whole", *changes, steps=400)


def test_without_a_checkpoint_it_begins_anew(tmp_path: Path) -> None:
    """Checkpoints of an earlier run in the same workspace are not its own."""
    conf = mlp(tmp_path, train_steps=200, dtype="FLOAT64", checkpoint_freq=0, test_freq=0, disp_freq=1)
    run_job(read_job(conf, ["seed=9", "train_steps=150"]), 1, workspace=tmp_path / "run")
    with RestartedRun(conf, tmp_path / "run", "--workers", "2", "--restarts", "1") as run:
        run.reach(40)
        send_signal(run.workers()[1], signal.SIGKILL)
        said = run.finish()
    assert "Restart 1 of 1 @ step 0  cut for 1 worker; no checkpoint was saved, so it begins anew" in said
    run_job(read_job(conf), 2, workspace=tmp_path / "whole")
    compare(saved(run.workspace, 200), saved(tmp_path / "whole", 200), SAME)


@pytest.mark.thorough
def test_the_restarts_are_used_up(tmp_path: Path) -> None:
    conf = mlp(tmp_path, train_steps=100_000, disp_freq=1, test_freq=0, checkpoint_freq=100)
    with RestartedRun(conf, tmp_path / "run", "--workers", "2", "--restarts", "1", "--wait", "9") as run:
        run.reach(20)
        send_signal(run.workers()[0], signal.SIGKILL)
        run.run.until("^Restart 1 of 1", LONG)
        run.run.until("^Train @ step", LONG)
        known = [run.coordinator(), *run.workers()]
        send_signal(known[0], signal.SIGKILL)
        said = run.finish(1)
        run.check_nothing_is_left(known)
    assert said.splitlines()[-1].startswith("error: the coordinator died (signal 9, SIGKILL")
    assert "all 1 restarts are used" in said
    assert f"continue from {tmp_path}/run/checkpoint/step" in said
    assert "--restarts 1 --wait 9 --resume`" in said


def test_an_error_of_the_job_is_not_repeated(tmp_path: Path) -> None:
    conf = mlp(tmp_path, train_steps=400, disp_freq=1, checkpoint_freq=10, test_freq=0)
    change = ("--set", "updater.learning_rate.base_lr=1e30")
    with RestartedRun(conf, tmp_path / "run", "--workers", "2", "--restarts", "5", *change) as run:
        said = run.finish(1)
    assert "it diverged" in said
    assert "\n--restarts does not repeat this" in said
    assert "Restart" not in said


def test_the_end_of_the_supervisor_is_that_of_all(tmp_path: Path) -> None:
    conf = mlp(tmp_path, train_steps=100_000, disp_freq=1, test_freq=0)
    with RestartedRun(conf, tmp_path / "run", "--workers", "2", "--restarts", "5") as run:
        run.reach(5)
        known = [run.coordinator(), *run.workers()]
        send_signal(run.run.process.pid, signal.SIGKILL)
        run.run.process.wait(LONG)
        await_true(lambda: not [pid for pid in known if is_alive(pid)], "processes are left")


def test_signals_reach_the_coordinator(tmp_path: Path) -> None:
    """SIGUSR1 saves and ends; Ctrl-C ends; neither is repeated."""
    conf = mlp(tmp_path, train_steps=100_000, disp_freq=1, test_freq=0, checkpoint_freq=0)
    for number, code in ((signal.SIGUSR1, 75), (signal.SIGTERM, 143)):
        with RestartedRun(conf, tmp_path / number.name, "--workers", "2", "--restarts", "5") as run:
            run.reach(20)
            known = [run.coordinator(), *run.workers()]
            send_signal(run.run.process.pid, number)
            said = run.finish(code)
            run.check_nothing_is_left(known)
        assert "Restart" not in said


@pytest.mark.thorough
@pytest.mark.parametrize("who", ["remote", "local", "coordinator", "stopped"])
def test_workers_that_joined_ask_again(tmp_path: Path, who: str) -> None:
    conf = mlp(tmp_path, train_steps=400, dtype="FLOAT64")
    address = f"tcp://127.0.0.1:{free_port()}"
    options = ("--workers", "3", "--local", "1", "--listen", address, "--restarts", "1")
    with RestartedRun(conf, tmp_path / "run", *options, *settings("checkpoint_freq=50")) as run:
        for rank in (1, 2):
            run.join(address, "--wait", "60", "--rank", str(rank))
        run.reach(120)
        remote = run.joined[1].process.pid
        target = {"coordinator": run.coordinator(), "local": run.workers()[0]}.get(who, remote)
        send_signal(target, signal.SIGSTOP if who == "stopped" else signal.SIGKILL)
        run.finish()
        ends = [end_of(each) for each in run.joined[: 1 if target == remote else 2]]
        send_signal(remote, signal.SIGKILL)
    assert set(ends) == {0}
    (again,) = [line for line in run.lines() if "restart" in line]
    assert again["workers"] == (3 if who == "coordinator" else 2)
    check_ends_alike(run, conf, tmp_path / "whole", *EVENTS, "checkpoint_freq=50", steps=400)


@pytest.mark.thorough
def test_a_place_is_filled_again(tmp_path: Path) -> None:
    """A job whose layers are placed on three workers cannot go on with two: it waits for another one."""
    conf = mlp(tmp_path, train_steps=400, dtype="FLOAT64")
    address = f"tcp://127.0.0.1:{free_port()}"
    placed = ("--set", "fc2.location=2", "--set", "fc2.partition_dim=-1", *settings("checkpoint_freq=50"))
    with RestartedRun(conf, tmp_path / "run", "--workers", "3", "--listen", address, "--restarts", "1", *placed) as run:
        for _ in range(3):
            run.join(address, "--wait", "60")
        run.reach(120)
        send_signal(run.joined[2].process.pid, signal.SIGKILL)
        run.run.until("^Restart 1 of 1 @ step 100  cut for 3 workers", LONG)
        run.join(address, "--wait", "60")
        run.finish()
        assert [end_of(each) for each in (*run.joined[:2], run.joined[3])] == [0, 0, 0]


def test_a_new_token_ends_with_its_coordinator(tmp_path: Path) -> None:
    conf = mlp(tmp_path, train_steps=100_000, disp_freq=1, test_freq=0)
    options = ("--workers", "1", "--local", "1", "--listen", f"tcp://127.0.0.1:{free_port()}", "--restarts", "5")
    with RestartedRun(conf, tmp_path / "run", *options, token=False) as run:
        run.reach(5)
        send_signal(run.coordinator(), signal.SIGKILL)
        said = run.finish(1)
    assert "its workers have a token that was lost with it: set NETPART_TOKEN to one of your own" in said


def test_in_python(tmp_path: Path) -> None:
    """The same without a supervisor; a worker is killed by its own event."""
    import os

    conf, killed = mlp(tmp_path, train_steps=60, dtype="FLOAT64"), list[int]()

    def hear(event: Event) -> None:
        # Step 30 has several events; a second kill would take another worker, as the first is gone.
        if getattr(event, "step", 0) == 30 and not killed:
            killed.append(children(os.getpid())[-1])
            send_signal(killed[0], signal.SIGKILL)

    job = read_job(conf, list(EVENTS))
    summary = run_job(job, 3, workspace=tmp_path / "run", listener=hear, restarts=RestartChoice(2))
    assert [again["workers"] for again in summary.restarts] == [2]
    run_job(read_job(conf, list(EVENTS)), 3, workspace=tmp_path / "whole")
    compare(saved(tmp_path / "run", 60), saved(tmp_path / "whole", 60), SAME)
