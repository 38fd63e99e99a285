"""Buckets far above 4 MiB between processes: the same numbers as on one worker, and the bytes that were predicted."""

from __future__ import annotations

from pathlib import Path

import pytest

from netpart.graph.partition import partition_job
from netpart.launch.report.events import Summary
from netpart.launch.run import run_job
from netpart.proto.reader import read_job_text

pytestmark = [pytest.mark.slow, pytest.mark.alone]
GIB = 1 << 30
WIDE = """name: "wide" train_steps: 2 seed: 3 shard_updates: NO dtype: FLOAT64
train_one_batch { alg: kBP } updater { type: kSGD learning_rate { type: kFixed base_lr: 0.01 } }
neuralnet {
  layer { name: "data" type: kSyntheticInput store_conf { batchsize: 4 shape: 1000 } }
  layer { name: "h" type: kInnerProduct srclayers: "data" innerproduct_conf { num_output: 900 }
    param { init { type: kUniformSqrtFanIn } } param { init { type: kConstant value: 0 } } }
  layer { name: "ip" type: kInnerProduct srclayers: "h" innerproduct_conf { num_output: 10 }
    param { init { type: kUniformSqrtFanIn } } param { init { type: kConstant value: 0 } } }
  layer { name: "loss" type: kSoftmaxLoss srclayers: "ip" srclayers: "data" }
}
"""
"""A net whose gradients are 7 MiB."""


def train(workspace: Path, workers: int, transport: str = "auto", launcher: str = "local") -> Summary:
    job = read_job_text(WIDE, overrides=[f"bucket_bytes={GIB}"])
    return run_job(
        job, workers, launcher=launcher, transport=transport, workspace=workspace, listener=lambda event: None
    )


def test_all_gradients_are_one_bucket() -> None:
    job = read_job_text(WIDE, overrides=[f"bucket_bytes={GIB}"])
    (bucket,) = partition_job(job.proto, 2).buckets
    assert bucket.elements * 8 > 4 << 20


@pytest.mark.parametrize("transport", ["shm", "zeromq"])
def test_a_bucket_of_many_mebibytes_travels(transport: str, tmp_path: Path) -> None:
    whole = train(tmp_path / "whole", 1, launcher="threads")
    found = train(tmp_path / "cut", 2, transport)
    assert found.train == pytest.approx(whole.train, rel=1e-11)
    assert found.bytes_counted == found.bytes_predicted > 2 * 2 * (6 << 20)
