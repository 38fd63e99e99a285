"""What a job of dtype FLOAT64 computes with is what is written: numbers of its text, and of its data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from google.protobuf.descriptor import FieldDescriptor

from netpart.data.scans.nifti import save_volume
from netpart.data.stores.mean import write_mean
from netpart.data.stores.record import Record, encode_record
from netpart.data.stores.store import KvWriter
from netpart.errors import DataError
from netpart.graph.partition import partition_job
from netpart.proto import job_pb2
from netpart.proto.job_pb2 import JobProto
from netpart.proto.reader import read_job_text
from netpart.proto.writer import write_job
from netpart.updaters import build_updater
from netpart.worker.ensemble import Ensemble

DECIMALS = ["0.1", "-0.3", "1e-9", "123456.789", "3.3333333333333335"]
NET = """
dtype: %s train_steps: 1 seed: 2
updater { type: kSGD learning_rate { type: kFixed base_lr: 0.1 } }
neuralnet {
  %s
  layer { name: "ip" type: kInnerProduct srclayers: "data" innerproduct_conf { num_output: 2 }
    param { init { type: kConstant value: 0.7 } } param { init { type: kConstant value: 0 } } }
}
"""


def read(folder: Path, data: str, dtype: str = "FLOAT64", output: str = "data") -> np.ndarray:
    """What the first step reads."""
    job = read_job_text(NET % (dtype, data)).proto
    ensemble = Ensemble(partition_job(job, 1, folder), keep=True)
    ensemble.initialise()
    ensemble.step("train", 0)
    return ensemble.activation("train", output)


@pytest.mark.parametrize("dtype", ["FLOAT64", "FLOAT32"])
@pytest.mark.parametrize("backend", ["textfile", "kvfile"])
def test_a_line_of_decimals_is_read_as_written(backend: str, dtype: str, tmp_path: Path) -> None:
    line = ",".join(["1", *DECIMALS])
    (tmp_path / "rows.csv").write_text(f"{line}\n")
    with KvWriter(tmp_path / "rows.bin") as writer:
        writer.put(b"0", line.encode())
    path = tmp_path / ("rows.csv" if backend == "textfile" else "rows.bin")
    store = f'store_conf {{ backend: "{backend}" path: "{path}" batchsize: 1 shape: {len(DECIMALS)} }}'
    found = read(tmp_path, f'layer {{ name: "data" type: kCSVInput {store} }}', dtype)[0]
    kind = np.float64 if dtype == "FLOAT64" else np.float32
    assert found.tolist() == [float(kind(each)) for each in DECIMALS]


def test_lines_are_scaled_in_float64(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("0,0.7,0.9\n")
    (tmp_path / "mean.csv").write_text("0.1,0.2\n")
    store = f'path: "{tmp_path}/rows.csv" batchsize: 1 mean_file: "{tmp_path}/mean.csv" std_value: 0.3'
    found = read(tmp_path, f'layer {{ name: "data" type: kCSVInput store_conf {{ {store} }} }}')[0]
    assert found.tolist() == [(0.7 - 0.1) / 0.3, (0.9 - 0.2) / 0.3]


def test_a_number_that_only_float64_has(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("0,1e39\n")
    data = f'layer {{ name: "data" type: kCSVInput store_conf {{ path: "{tmp_path}/rows.csv" batchsize: 1 }} }}'
    assert read(tmp_path, data)[0].tolist() == [1e39]
    with pytest.raises(DataError, match="expected a finite float32, got '1e39'"):
        read(tmp_path, data, "FLOAT32")


@pytest.mark.parametrize("values", [np.array([0.1, 2.5], np.float32), np.array([3, 250], np.uint8)], ids=str)
def test_records_are_exact_and_scaled_in_float64(values: np.ndarray, tmp_path: Path) -> None:
    with KvWriter(tmp_path / "rows.bin") as writer:
        writer.put(b"0", encode_record(Record.from_array(values, 1)))
    write_mean(tmp_path / "mean.bin", np.array([0.1, 0.3]))
    store = f'path: "{tmp_path}/rows.bin" batchsize: 1 mean_file: "{tmp_path}/mean.bin" std_value: 0.3'
    found = read(tmp_path, f'layer {{ name: "data" type: kRecordInput store_conf {{ {store} }} }}')[0]
    assert found.tolist() == ((values.astype(float) - np.array([0.1, 0.3], np.float32).astype(float)) / 0.3).tolist()


def test_old_image_layers_compute_in_float64(tmp_path: Path) -> None:
    image = np.random.default_rng(1).integers(0, 256, (4, 4), np.uint8)
    with KvWriter(tmp_path / "rows.bin") as writer:
        writer.put(b"0", encode_record(Record.from_array(image, 1)))
    layers = f"""
      layer {{ name: "shard" type: kShardData sharddata_conf {{ path: "{tmp_path}/rows.bin" batchsize: 1 }} }}
      layer {{ name: "data" type: kMnist srclayers: "shard" mnist_conf {{ norm_a: 0.3 norm_b: 0.1 %s }} }}"""
    assert read(tmp_path, layers % "")[0].tolist() == (image / 0.3 - 0.1).tolist()
    resized = read(tmp_path, layers % "resize: 6")[0]
    places = np.clip((np.arange(6) + 0.5) * 4 / 6 - 0.5, 0, 3)
    by_rows = np.array([np.interp(places, np.arange(4), line) for line in image.astype(float)])
    both = np.array([np.interp(places, np.arange(4), line) for line in by_rows.T]).T
    np.testing.assert_allclose(resized, both / 0.3 - 0.1, rtol=1e-14)


def test_scans_are_normalised_in_float64(tmp_path: Path) -> None:
    pytest.importorskip("nibabel")
    volume = np.random.default_rng(1).random((3, 4, 5)) + 0.5
    save_volume(tmp_path / "one.nii", volume, np.eye(4))
    (tmp_path / "table.csv").write_text("one.nii,0\n")
    conf = f'nifti_conf {{ path: "{tmp_path}/table.csv" batchsize: 1 cache_mib: 1 }}'
    found = read(tmp_path, f'layer {{ name: "data" type: kNiftiInput {conf} }}')[0, 0]
    np.testing.assert_allclose(found, (volume - volume.mean()) / volume.std(), rtol=1e-12, atol=1e-13)


def test_numbers_of_a_job_are_those_that_are_written(tmp_path: Path) -> None:
    """Those of float32 would be 0.10000000149 and 0.699999988."""
    job = read_job_text(
        NET % ("FLOAT64", 'layer { name: "data" type: kSyntheticInput store_conf { batchsize: 1 shape: 2 } }')
    )
    assert job.proto.updater.learning_rate.base_lr == 0.1
    assert build_updater(job.proto.updater).rate(0) == 0.1
    ensemble = Ensemble(partition_job(job.proto, 1))
    ensemble.initialise()
    assert set(ensemble.parameter("ip/weight").ravel().tolist()) == {0.7}
    text = write_job(job.proto)
    assert "base_lr: 0.1 " in text
    assert read_job_text(text).proto == job.proto
    assert JobProto.FromString(job.proto.SerializeToString()) == job.proto


def test_no_field_of_a_job_is_narrower_than_float64() -> None:
    """But the elements of records and blobs, whose bytes are SINGA's."""

    def narrow(message: Any, seen: set[str]) -> list[str]:
        if message.name in seen:
            return []
        seen.add(message.name)
        inner = [found for f in message.fields if f.message_type for found in narrow(f.message_type, seen)]
        return inner + [f.full_name for f in message.fields if f.type == FieldDescriptor.TYPE_FLOAT]

    assert narrow(job_pb2.JobProto.DESCRIPTOR, set()) == []
