"""Jobs over files train to the same numbers on 1, 2 and 5 workers, and go on after a resume as if never stopped."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest
from safetensors.numpy import load_file

from netpart.errors import DataError
from netpart.launch.report.events import Event, Measured
from netpart.launch.run import run_job
from netpart.proto.reader import Job, read_job
from tests.datasets.samples import datum_store, masked_scans
from tests.thorough import sampled

pytestmark = pytest.mark.slow
JOB = """
name: "files" train_steps: 8 disp_freq: 1 checkpoint_freq: 4 seed: 5 dtype: FLOAT64
train_one_batch { alg: kBP }
updater { type: kSGD momentum: 0.9 learning_rate { type: kFixed base_lr: 0.05 } }
neuralnet {
  partition_dim: 0
  layer { name: "data" type: %s }
  layer {
    name: "fc" type: kInnerProduct srclayers: "%s" innerproduct_conf { num_output: 4 }
    param { init { type: kUniformSqrtFanIn } } param { init { type: kConstant } }
  }
  layer { name: "loss" type: kSoftmaxLoss srclayers: "fc" srclayers: "data" }
}
"""
EMBEDDED = """
name: "tokens" train_steps: 8 disp_freq: 1 checkpoint_freq: 4 seed: 5 dtype: FLOAT64
train_one_batch { alg: kBP }
updater { type: kSGD learning_rate { type: kFixed base_lr: 0.5 } }
neuralnet {
  partition_dim: 0
  layer { name: "data" type: kTokenInput token_conf { files: "tokens.bin" window: 6 batchsize: 10 } }
  layer {
    name: "table" type: kEmbedding srclayers: "data" embedding_conf { vocab_size: 40 feature_dim: 40 }
    param { init { type: kGaussian std: 1 } }
  }
  layer { name: "loss" type: kSoftmaxLoss srclayers: "table" srclayers: "data" }
}
"""
MASKED = """
name: "scans" train_steps: 8 disp_freq: 1 checkpoint_freq: 4 seed: 5 dtype: FLOAT64
train_one_batch { alg: kBP }
updater { type: kSGD momentum: 0.9 learning_rate { type: kFixed base_lr: 0.05 } }
neuralnet {
  layer { name: "data" type: kNiftiInput partition_dim: %d
    nifti_conf { path: "masked.csv" batchsize: 5 shape: [6, 5, 4] flip: true drift: 0.1 shuffle: true } }
  layer {
    name: "conv" type: kConvolution srclayers: "data" partition_dim: %d
    convolution_conf { num_filters: 3 kernel: 3 pad: 1 spatial_axes: 3 }
    param { init { type: kUniformSqrtFanIn } } param { init { type: kConstant } }
  }
  layer { name: "flat" type: kReshape srclayers: "conv" reshape_conf { shape: [3, 120] } }
  layer { name: "places" type: kTranspose srclayers: "flat" transpose_conf { axis: [2, 1] } }
  layer { name: "loss" type: kSoftmaxLoss srclayers: "places" srclayers: "data" }
}
"""
ORDER = "batchsize: 10 shuffle: true"
INPUTS = {
    "npz": f'kArrayInput array_conf {{ path: "xy.npz" data: "x" label: "y" {ORDER} prefetching: true }}',
    "hdf5": f'kArrayInput array_conf {{ path: "xy.h5" data: "x" label: "y" {ORDER} prefetching: true }}',
    "lmdb": 'kLMDBData lmdbdata_conf { path: "lmdb" batchsize: 10 }',
    "csv": f'kCSVInput store_conf {{ path: "a.csv" {ORDER} label_column: "1" classes_file: "classes.txt" }}',
}
JOBS = {**{name: JOB % (conf, "data") for name, conf in INPUTS.items()}, "tokens": EMBEDDED}
JOBS |= {"masks": MASKED % (0, 0), "masks in space": MASKED % (2, 2)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("inputs")
    x, y = np.random.default_rng(1).normal(size=(43, 6)), np.arange(43) % 4
    np.savez(path / "xy.npz", x=x, y=y)
    with h5py.File(path / "xy.h5", "w") as file:
        file.create_dataset("x", data=x, chunks=(4, 6), compression="gzip")
        file["y"] = y
    datum_store(path / "lmdb", x.astype(np.float32).reshape(43, 1, 2, 3), y)
    lines = [f'"kind {label}",' + ",".join(map(repr, row.tolist())) for row, label in zip(x, y, strict=True)]
    (path / "a.csv").write_text("\n".join(lines))
    masked_scans(path)
    np.random.default_rng(2).integers(0, 40, 500).astype("<u2").tofile(path / "tokens.bin")
    for name, text in JOBS.items():
        (path / f"{name}.conf").write_text(text)
    return path


def losses(job: Job, workers: int, workspace: Path, launcher: str = "local") -> dict[int, float]:
    """The loss of each step of a run."""
    heard: list[Event] = []
    run_job(job, workers, listener=heard.append, workspace=workspace, launcher=launcher)
    return {
        each.step: next(iter(each.metrics.values()))
        for each in heard
        if isinstance(each, Measured) and each.phase == "train"
    }


@pytest.mark.parametrize("name", sampled(JOBS, 5))
def test_a_job_over_files(name: str, folder: Path, tmp_path: Path) -> None:
    job = read_job(folder / f"{name}.conf")
    one = losses(job, 1, tmp_path / "1", "threads")
    whole = losses(job, 2, tmp_path / "2")
    assert len(one) == 8
    for found in (whole, losses(job, 5, tmp_path / "5", "threads")):
        assert found.keys() == one.keys()
        np.testing.assert_allclose([*found.values()], [*one.values()], rtol=1e-12)
    first = losses(read_job(folder / f"{name}.conf", ["train_steps=4"]), 2, tmp_path / "resumed")
    rest = losses(read_job(folder / f"{name}.conf", ["resume=true"]), 2, tmp_path / "resumed")
    assert {**first, **rest} == whole
    saved = [load_file(tmp_path / place / "checkpoint" / "step00000008.safetensors") for place in ("resumed", "2")]
    assert all(np.array_equal(saved[0][key], saved[1][key]) for key in saved[1])


def test_a_token_beyond_the_embedding_stops_a_job_before_it_starts(folder: Path, tmp_path: Path) -> None:
    job = read_job(folder / "tokens.conf", ["table.embedding_conf.vocab_size=39"])
    with pytest.raises(DataError, match=r"tokens\.bin: token \d+: expected a number from 0 to 38, got 39"):
        losses(job, 2, tmp_path / "2")
    assert not list(tmp_path.rglob("*.safetensors"))
