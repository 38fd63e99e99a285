"""Waits for data: a slow source is found in every step, by worker, and what was read ahead does not count."""

from __future__ import annotations

from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest

import netpart
from netpart.data.arrays.row_array import StoredArray
from netpart.measure.profile import ProfiledRun, profile_job
from netpart.measure.timeline import READ

JOB = """name: "waits"  train_steps: 1  updater { type: kSGD  learning_rate { type: kFixed  base_lr: 0.1 } }
neuralnet {
  layer { name: "data"  type: kArrayInput  location: 0
    array_conf { path: "x.npy"  label_path: "y.npy"  batchsize: 8  prefetching: AHEAD } }
  layer { name: "ip"  type: kInnerProduct  srclayers: "data"  partition_dim: 0  innerproduct_conf { num_output: 3 }
    param { init { type: kUniform } } param { init { type: kConstant  value: 0 } } }
  layer { name: "loss"  type: kSoftmaxLoss  srclayers: "ip"  srclayers: "data" }
}
"""
SLOW = 0.02
"""Seconds of a read of the array."""


def profile(folder: Path, ahead: bool, workers: int = 1) -> ProfiledRun:
    """The profile of a job whose array is on a slow disk; both its workers are threads."""
    np.save(folder / "x.npy", np.arange(160, dtype=np.float32).reshape(40, 4))
    np.save(folder / "y.npy", np.arange(40) % 3)
    (folder / "job.conf").write_text(JOB.replace("AHEAD", str(ahead).lower()))
    job = netpart.load(folder / "job.conf")
    return profile_job(job, workers, 3, launcher="threads")


@pytest.fixture
def slow_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes every read of rows of an array take SLOW seconds."""
    read = StoredArray.rows

    def rows(self: StoredArray, lo: int, hi: int) -> Any:
        Event().wait(SLOW)
        return read(self, lo, hi)

    monkeypatch.setattr(StoredArray, "rows", rows)


def test_a_slow_source_is_what_a_step_waits_for(slow_disk: None, tmp_path: Path) -> None:
    found = profile(tmp_path, ahead=False).profile
    (wait,) = found.data
    assert (wait.name, wait.type) == ("data", "kArrayInput")
    assert SLOW <= wait.seconds <= found.step_seconds
    assert wait.share > 0.5
    assert wait.hint.startswith("write prefetching: true in array_conf")
    assert found.workers[0].reading == wait.seconds
    assert found.workers[0].forward < SLOW
    assert found.layers[0].forward == wait.seconds


def test_only_the_worker_with_the_data_waits_for_it(slow_disk: None, tmp_path: Path) -> None:
    run = profile(tmp_path, ahead=False, workers=2)
    reads = [event for event in run.timeline.events if event.kind == READ]
    assert {(event.worker, event.text) for event in reads} == {(0, "read data")}
    assert not any(event.text == "forward data" for event in run.timeline.events)
    assert [worker.reading > SLOW for worker in run.profile.workers] == [True, False]
    assert 'fill="#D55E00" class="bar"' in run._repr_svg_()


def test_what_was_read_ahead_does_not_count(tmp_path: Path) -> None:
    (wait,) = profile(tmp_path, ahead=True).profile.data
    assert wait.seconds < SLOW
    assert "write prefetching" not in wait.hint
