"""A peer that computes something else is no peer: from the same weights and rows all come to the same losses."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from benchmarks.contenders import MPI, MPIEXEC, TORCH, Bench, calls
from benchmarks.mlp import Work, prepare
from netpart.launch.events import Event, Measured
from netpart.launch.run import run
from netpart.plan.ledger import ledger
from netpart.plan.partition import partition
from netpart.proto.reader import load
from tests.house.tree import ROOT

pytestmark = pytest.mark.slow
STEPS = 6
WORKS = [
    Work((9, 12, 8, 12, 10), 6, 2, STEPS, rate=0.1),
    Work((9, 13, 8, 7, 10), 5, 3, STEPS, rate=0.1),
    Work((9, 12, 8, 10), 6, 4, STEPS, rate=0.1),
]
"""Even widths, uneven ones, an odd number of layers."""


@pytest.fixture(params=WORKS, ids=str)
def work(request: pytest.FixtureRequest, tmp_path: Path) -> Work:
    prepared: Work = replace(request.param, start=str(tmp_path / "start.safetensors"))
    prepare(prepared, tmp_path)
    return prepared


def losses(work: Work) -> list[float]:
    """Those of netpart on one worker."""
    heard: list[Event] = []
    folder = Path(work.start).parent
    job = load(folder / "job.conf", ["disp_freq=1"])
    run(job, 1, launcher="threads", listener=heard.append, workspace=folder / "run")
    return [event.metrics["loss/loss"] for event in heard if isinstance(event, Measured) and event.phase == "train"]


def agree(work: Work, found: list[float]) -> None:
    expected = losses(work)
    assert len(expected) == STEPS
    assert expected[-1] < 0.95 * expected[1]  # of the same rows
    np.testing.assert_allclose(found, expected, rtol=2e-5)


def predicted(work: Work, scheme: str) -> tuple[int, int]:
    """Calls and bytes of a step of netpart."""
    cut = partition(load(Path(work.start).parent / "job.conf").proto, work.workers, scheme=scheme)
    return calls(cut), ledger(cut).total


@pytest.mark.skipif(find_spec("mpi4py") is None, reason="needs the extra peers")
def test_algorithm_2_over_mpi_is_naive(work: Work) -> None:
    call = [MPIEXEC, "-n", str(work.workers), sys.executable, "-m", "benchmarks.peers.altsplit_mpi", work.to_json()]
    found = json.loads(subprocess.run(call, cwd=ROOT, capture_output=True, check=True, timeout=120).stdout)
    agree(work, found["losses"])
    assert len(found["seconds"]) == STEPS
    assert min(found["seconds"]) > 0
    assert (found["calls"], found["bytes"]) == predicted(work, "NAIVE")


@pytest.mark.skipif(find_spec("torch") is None, reason="needs the extra peers")
@pytest.mark.parametrize("work", [replace(WORKS[0], workers=4)], indirect=True, ids=str)
def test_tensor_parallelism_of_pytorch_is_column_row(work: Work) -> None:
    call = [sys.executable, "-m", "benchmarks.peers.torch_tp", "4"]
    line = f"{work.to_json()}\n".encode()
    answers = subprocess.run(call, cwd=ROOT, input=line + line, capture_output=True, check=True, timeout=300).stdout
    first, second = map(json.loads, answers.splitlines())
    assert first["losses"] == second["losses"]
    agree(work, first["losses"])
    assert first["calls"] == 3
    assert first["bytes"] == predicted(work, "COLUMN_ROW")[1]


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    with Bench(["--launcher", "threads"]) as made:
        yield made


@pytest.mark.skipif(not (find_spec("mpi4py") and find_spec("torch")), reason="needs the extra peers")
@pytest.mark.parametrize("contender", ["DATA", "COLUMN_ROW", MPI, TORCH])
def test_a_bench_runs_everybody(bench: Bench, contender: str) -> None:
    work = bench.prepare(WORKS[0])
    found, alone = bench.run(contender, work), bench.run("SEQUENTIAL", work)
    assert found.loss == pytest.approx(alone.loss, rel=2e-5)
    assert len(found.seconds) == STEPS - 3
    assert found.median > 0
    assert (alone.calls, alone.bytes) == (0, 0)
