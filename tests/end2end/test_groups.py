"""Groups and servers as processes and threads: every step once, every byte foretold, resumed as if never stopped, and
ended cleanly when one of them dies."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from netpart.launch.report.events import Measured, Summary
from netpart.launch.run import run_job
from netpart.proto.cluster import cluster_of
from netpart.proto.reader import read_job
from tests.end2end.running import SOON, Run, mlp
from tests.end2end.test_failures import ENDLESS
from tests.end2end.test_runs import compare, play, saved
from tests.thorough import sampled

SANDBLASTER = ("cluster.server_worker_separate=true", "cluster.nservers_per_group=2")
DOWNPOUR = ("cluster.nworker_groups=2", "cluster.nservers_per_group=2", "cluster.server_worker_separate=true")
HOGWILD = ("cluster.nworker_groups=3", "cluster.nserver_groups=3", "cluster.sync_freq=2")
RING = ("cluster.nworker_groups=3", "cluster.nserver_groups=0", "cluster.staleness=1")
IN_TURNS = (*DOWNPOUR, "cluster.in_turns=true")
MODES = {"Sandblaster": SANDBLASTER, "Downpour": DOWNPOUR, "Hogwild": HOGWILD, "ring": RING}


def updates(workspace: Path) -> list[dict[str, Any]]:
    lines = (workspace / "updates.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def check_staleness(summary: Summary, workspace: Path) -> None:
    told, found = updates(workspace), summary.staleness
    assert found is not None
    assert found.updates == len(told) == sum(found.histogram.values())
    assert found.most == max(update["staleness"] for update in told)
    assert found.mean == pytest.approx(sum(update["staleness"] for update in told) / len(told))
    assert all(update["staleness"] == update["version"] - update["read"] >= 0 for update in told)


@pytest.mark.parametrize(
    ("launcher", "transport"), sampled([("local", "shm"), ("local", "zeromq"), ("threads", "auto")], 3)
)
@pytest.mark.parametrize("mode", sampled(MODES, 2))
def test_every_mode_runs_and_moves_what_was_foretold(tmp_path: Path, mode: str, launcher: str, transport: str) -> None:
    job = read_job(mlp(tmp_path, train_steps=23), MODES[mode])
    summary = run_job(job, 2, launcher=launcher, transport=transport, workspace=tmp_path / "run")
    assert summary.bytes_counted == summary.bytes_predicted > 0
    assert summary.cluster == str(cluster_of(job.proto, 2))
    check_staleness(summary, tmp_path / "run")
    assert len(summary.memory_bytes) == cluster_of(job.proto, 2).size
    assert saved(tmp_path / "run", 23)
    for server in cluster_of(job.proto, 2).checkpoint_ranks if mode in ("Sandblaster", "Downpour") else ():
        steps = [update["step"] for update in updates(tmp_path / "run") if update["rank"] == server]
        assert sorted(steps) == list(range(23))


def test_sandblaster_is_allreduce_bit_for_bit(tmp_path: Path) -> None:
    path = mlp(tmp_path, dtype="FLOAT32")
    _, heard = play(read_job(path, SANDBLASTER), 3, tmp_path / "servers")
    _, also = play(read_job(path, ()), 3, tmp_path / "allreduce")
    compare(saved(tmp_path / "servers", 12), saved(tmp_path / "allreduce", 12), 0.0)
    measured = [[event.metrics for event in events if isinstance(event, Measured)] for events in (heard, also)]
    assert measured[0][-1] == measured[1][-1]


REPEATABLE = {"Downpour in turns": IN_TURNS, "Hogwild": HOGWILD, "ring": RING}


@pytest.mark.parametrize(
    "mode",
    sampled([pytest.param(mode, id=name) for name, mode in REPEATABLE.items()], len(REPEATABLE)),
)
def test_what_does_not_depend_on_chance_is_the_same_anywhere_and_when_it_is_resumed(
    tmp_path: Path, mode: tuple[str, ...]
) -> None:
    path = mlp(tmp_path, dtype="FLOAT64", train_steps=17)
    play(read_job(path, mode), 2, tmp_path / "processes")
    play(read_job(path, mode), 2, tmp_path / "threads", "threads")
    compare(saved(tmp_path / "threads", 17), saved(tmp_path / "processes", 17), 0.0)
    play(read_job(path, (*mode, "train_steps=8")), 2, tmp_path / "resumed", "threads")
    summary, _ = play(read_job(path, (*mode, "resume=true")), 2, tmp_path / "resumed")
    assert summary.steps == 9
    assert summary.bytes_counted == summary.bytes_predicted
    compare(saved(tmp_path / "resumed", 17), saved(tmp_path / "processes", 17), 0.0)


def test_downpour_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    path = mlp(tmp_path)
    run_job(read_job(path, (*DOWNPOUR, "train_steps=6")), 1, workspace=tmp_path / "run", launcher="threads")
    before = saved(tmp_path / "run", 6)
    summary = run_job(read_job(path, (*DOWNPOUR, "resume=true")), 1, workspace=tmp_path / "run", launcher="threads")
    assert {update["step"] for update in updates(tmp_path / "run")} == set(range(6, 12))
    assert summary.steps == 6
    assert before.keys() == saved(tmp_path / "run", 12).keys()


NAMES = {0: "worker 0 (of group 0)", 2: "worker 2 (of group 1)", 4: "server 0 (rank 4)"}


@pytest.mark.parametrize("transport", sampled(["shm", "zeromq"], 2))
@pytest.mark.parametrize("rank", sampled(NAMES, 3))
def test_kill_9_of_a_worker_or_a_server(tmp_path: Path, rank: int, transport: str) -> None:
    conf, settings = mlp(tmp_path, train_steps=ENDLESS), list(DOWNPOUR)
    with Run(conf, 2, tmp_path / "run", transport=transport, set=settings) as ended:
        ended.until(lambda told: told["kind"] == "Measured" and told["step"] > 20)
        began = ended.signal(signal.SIGKILL, rank)
        assert ended.end() == 1
        assert monotonic() - began <= SOON
        assert re.match(rf"{re.escape(NAMES[rank])}: died \(signal 9, SIGKILL.*last heard in ", ended.failure())
        assert ended.errors() == ""
        assert not list(ended.workspace.glob("checkpoint/*.partial"))
        ended.check_nothing_is_left()


@pytest.mark.parametrize("rank", sampled([0, 2], 2))
def test_kill_9_of_a_group_that_averages(tmp_path: Path, rank: int) -> None:
    with Run(mlp(tmp_path, train_steps=ENDLESS), 1, tmp_path / "run", set=list(RING)) as ended:
        ended.until(lambda told: told["kind"] == "Measured" and told["step"] > 20)
        began = ended.signal(signal.SIGKILL, rank)
        assert ended.end() == 1
        assert monotonic() - began <= SOON
        assert re.match(rf"worker {rank} \(of group {rank}\): died \(signal 9, SIGKILL", ended.failure())
        ended.check_nothing_is_left()
