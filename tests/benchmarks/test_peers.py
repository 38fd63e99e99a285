"""A peer that computes something else is no peer: from the same weights and rows all come to the same losses."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.contenders import MPI, MPIEXEC, TORCH, WARM_UP, Bench, exchanged
from benchmarks.mlp import Work, prepare
from netpart.launch.report.events import Event, Measured
from netpart.launch.run import run_job
from netpart.proto.reader import read_job
from tests.house.tree import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.alone]
STEPS = 6
WORKS = [
    Work((9, 12, 8, 12, 10), 6, 2, STEPS, rate=0.1),
    Work((9, 13, 8, 7, 10), 5, 3, STEPS, rate=0.1),
    Work((9, 12, 8, 10), 6, 4, STEPS, rate=0.1),
]
"""Even widths, uneven ones, an odd number of layers."""
TOLERANCE = 2e-5


def losses(work: Work) -> list[float]:
    """Those of netpart on one worker."""
    heard: list[Event] = []
    folder = Path(work.start).parent
    job = read_job(folder / "job.conf", ["disp_freq=1"])
    run_job(job, 1, launcher="threads", listener=heard.append, workspace=folder / "run")
    return [event.metrics["loss/loss"] for event in heard if isinstance(event, Measured) and event.phase == "train"]


@pytest.mark.parametrize("work", WORKS, ids=str)
def test_algorithm_2_over_mpi_is_naive(work: Work, tmp_path: Path) -> None:
    work = replace(work, start=str(tmp_path / "start.safetensors"))
    prepare(work, tmp_path)
    call = [MPIEXEC, "-n", str(work.workers), sys.executable, "-m", "benchmarks.peers.altsplit_mpi", work.to_json()]
    found = json.loads(subprocess.run(call, cwd=ROOT, capture_output=True, check=True, timeout=120).stdout)
    expected = losses(work)
    np.testing.assert_allclose(found["losses"], expected, rtol=TOLERANCE)
    assert expected[-1] < 0.95 * expected[1]  # of the same rows
    assert len(found["seconds"]) == STEPS
    assert min(found["seconds"]) > 0
    assert (found["calls"], found["bytes"]) == exchanged(tmp_path / "job.conf", work.workers, "NAIVE")


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    with Bench(["--launcher", "threads"]) as made:
        yield made


@pytest.mark.peers
@pytest.mark.parametrize(("contender", "like"), [("DATA", "DATA"), (MPI, "NAIVE"), (TORCH, "COLUMN_ROW")])
def test_a_bench_comes_to_the_same_loss_with_everybody(bench: Bench, contender: str, like: str) -> None:
    work = bench.prepare(WORKS[0])
    found, ours = bench.run(contender, work), bench.run(like, work)
    assert found.loss == pytest.approx(np.mean(losses(work)), rel=TOLERANCE)
    assert ours.loss == pytest.approx(found.loss, rel=TOLERANCE)
    assert len(found.seconds) == STEPS - WARM_UP
    assert found.median > 0
    assert found.bytes == ours.bytes > 0
    assert 0 < found.calls <= ours.calls
