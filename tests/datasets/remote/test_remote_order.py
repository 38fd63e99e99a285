"""The order law over URLs: the same rows on 1, 2 and 5 workers, in micro-batches, after kill -9, from bad servers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import netpart
from tests.datasets.remote.jobs import PROTOCOLS, job_text, read_losses
from tests.datasets.remote.servers import WebHdfsHandler, file_server
from tests.thorough import sampled

CLOSE = 1e-11
"""Largest relative difference of two losses: sums of other parts round differently."""
KINDS = ("kImageInput", "kArrayInput", "kTokenInput", "kNiftiInput", "kTarInput", "kRecordInput")
CUTS = [(1, "micro_batches: 3"), (2, ""), (5, ""), (2, "micro_batches: 3"), (5, "micro_batches: 2")]
STEPS = 12


CASES = [(protocol, kind, *cut) for kind in KINDS for protocol in PROTOCOLS for cut in CUTS]


@pytest.mark.parametrize(("protocol", "kind", "workers", "more"), sampled(CASES, 41))
def test_any_number_of_workers_reads_the_same_rows(
    protocol: str, kind: str, workers: int, more: str, places: dict[str, str], train: Callable[..., list[float]]
) -> None:
    local = train(kind, places[""], 1)
    assert len({*local}) > 3
    assert train(kind, places[protocol], workers, more=more) == pytest.approx(local, rel=CLOSE)
    # The same cut over files of this machine has the same bits.
    assert train(kind, places[""], workers, more=more) == train(kind, places[protocol], workers, more=more)


KILLED = [("http", "kArrayInput", 5), ("hdfs", "kImageInput", 3), ("s3", "kTarInput", 8), ("hdfs", "kTokenInput", 7),
          ("s3", "kRecordInput", 10), ("http", "kNiftiInput", 6)]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("protocol", "kind", "step"), sampled(KILLED, 6))
def test_a_run_that_was_killed_goes_on_with_its_next_row(
    protocol: str, kind: str, step: int, places: dict[str, str], train: Callable[..., list[float]], tmp_path: Path
) -> None:
    whole = train(kind, places[""], 2, steps=STEPS)
    conf, workspace = tmp_path / "killed.conf", tmp_path / "killed"
    conf.write_text("checkpoint_freq: 2 " + job_text(kind, places[protocol], tmp_path / "cache", STEPS))
    kill_at(step, conf, workspace)
    # The training goes on from its last checkpoint, on another number of workers, with what the cache has.
    netpart.run(netpart.load(conf, ["resume=true"]), 3, launcher="threads", workspace=workspace)
    assert read_losses(workspace) == pytest.approx(whole, rel=CLOSE)


def kill_at(step: int, conf: Path, workspace: Path) -> None:
    """Run a job of two worker processes, and kill it with all of them when it has reported ``step``."""
    command = [sys.executable, "-m", "netpart", "run", str(conf), "--workers", "2", "--workspace", str(workspace)]
    run = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert run.stdout is not None
    for line in run.stdout:
        if f"step {step} " in line.lower():
            break
    os.killpg(run.pid, signal.SIGKILL)
    assert run.wait(60) == -signal.SIGKILL
    run.stdout.close()
    assert 0 < len(read_losses(workspace)) < STEPS


@pytest.mark.slow
@pytest.mark.parametrize("kind", sampled(["kArrayInput", "kImageInput", "kTokenInput"], 3))
def test_a_job_loses_no_row_from_a_server_that_fails(
    kind: str, folder: Path, files: dict[str, bytes], train: Callable[..., list[float]]
) -> None:
    """5 % of the requests fail: 503, a reset, an answer that ends early. The cache keeps nothing that is cut short."""
    local = train(kind, str(folder), 2, steps=60)
    with file_server(files, WebHdfsHandler) as hdfs:
        hdfs.mode = "flaky"
        for turn in range(3):
            at = f"hdfs://{hdfs.address}/bucket/d{'/.' * turn}"  # another address: nothing is in the cache
            assert train(kind, at, 2, steps=60) == local
        assert hdfs.failed >= 1
