"""The rows of files are the same bits on 1, 2 and 5 workers, in micro-batches and after a resume."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from google.protobuf import text_format

from netpart.layers import layer_class
from netpart.layers.inputs.rows import RowInput
from netpart.proto.job_pb2 import LayerProto
from netpart.spec import extent
from tests.datasets.samples import datum_store

BATCH, STEPS, RESUMED = 10, 6, 4
X = np.random.default_rng(1).normal(size=(23, 3, 2))
Y = np.arange(23)
MIXED = f"batchsize: {BATCH} shuffle: true prefetching: true random_skip: 50"
ORDERED = f"batchsize: {BATCH} shuffle: true random_skip: 50"
INPUTS = {
    "npy": f'kArrayInput array_conf {{ path: "x.npy" label_path: "y.npy" {MIXED} }}',
    "npz": f'kArrayInput array_conf {{ path: "xy.npz" label: "y" {MIXED} }}',
    "packed": f'kArrayInput array_conf {{ path: "packed.npz" label: "y" {MIXED} mean_value: 0.1 std_value: 3 }}',
    "hdf5": f'kArrayInput array_conf {{ path: "xy.h5" data: "x" label: "y" {MIXED} }}',
    "tokens": f'kTokenInput token_conf {{ files: "*.tokens" element: UINT32 window: 9 batchsize: {BATCH} }}',
    "lmdb": f'kLMDBData lmdbdata_conf {{ path: "lmdb" batchsize: {BATCH} random_skip: 50 }}',
    "lmdb store": f'kRecordInput store_conf {{ path: "lmdb" backend: "lmdb" {MIXED} }}',
    "csv": f'kCSVInput store_conf {{ path: "a.csv" {MIXED} label_column: "3" classes_file: "c.txt" }}',
    "targets": f'kArrayInput array_conf {{ path: "x.npy" label_path: "t.npy" target: true {MIXED} }}',
    "csv targets": f'kCSVInput store_conf {{ path: "b.csv" {ORDERED} label_column: "2" target: true }}',
    "labels": f'kCSVInput store_conf {{ path: "b.csv" {ORDERED} label_column: "3" label_column: "1" }}',
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rows")
    np.save(path / "x.npy", X)
    np.save(path / "y.npy", Y)
    np.save(path / "t.npy", X[:, :, 0] * 7)
    np.savez(path / "xy.npz", x=X, y=Y)
    np.savez_compressed(path / "packed.npz", x=X, y=Y)
    with h5py.File(path / "xy.h5", "w") as file:
        file.create_dataset("x", data=X, chunks=(4, 3, 2), compression="gzip")
        file["y"] = Y
    for i in range(3):
        (path / f"{i}.tokens").write_bytes(np.arange(i * 100, i * 100 + 77, dtype="<u4").tobytes())
    datum_store(path / "lmdb", (X * 9).astype(np.uint8)[..., None], Y)
    (path / "a.csv").write_text("".join(f'{i},"{i}.25","word {i % 4}"\n' for i in range(23)))
    (path / "b.csv").write_text("".join(f"{i},{i}.25,{i % 4}\n" for i in range(23)))
    return path


def opened(name: str, folder: Path, seed: int = 3) -> tuple[RowInput, Any]:
    """A layer and its source, as a worker of its own opens them."""
    layer = layer_class(INPUTS[name].split()[0])(
        text_format.Parse(f'name: "it" type: {INPUTS[name]}', LayerProto()), (), folder=folder
    )
    assert isinstance(layer, RowInput)
    return layer, layer.open_ahead(BATCH, seed, 1, np.float64)


def read(name: str, folder: Path, ends: tuple[int, int], steps: range, seed: int = 3) -> list[list[Any]]:
    """The outputs of rows between ``ends`` in each of ``steps``, on a worker of its own."""
    layer, source = opened(name, folder, seed)
    region = (ends, *layer.output.whole[1:])
    found = []
    for step in steps:
        kinds = [np.int32 if spec.dtype == "int" else np.float64 for spec in layer.outputs]
        out = [np.full(extent(box), -7, kind) for box, kind in zip(layer.outputs_of(region), kinds, strict=True)]
        source.read(step, *ends, out[0], out[1], region[1:])
        found.append(out)
    return found


def cut(workers: int) -> list[tuple[int, int]]:
    """Uneven rows of the workers."""
    ends = [0, *(1 + BATCH * i // workers for i in range(1, workers)), BATCH]
    return list(pairwise(ends))


@pytest.mark.parametrize("name", INPUTS)
def test_rows_do_not_depend_on_the_workers(name: str, folder: Path) -> None:
    whole = read(name, folder, (0, BATCH), range(STEPS))
    for workers in (2, 5):
        parts = [read(name, folder, ends, range(STEPS)) for ends in cut(workers)]
        for step, outputs in enumerate(whole):
            for k, expected in enumerate(outputs):
                assert np.array_equal(np.concatenate([part[step][k] for part in parts]), expected)


@pytest.mark.parametrize("name", INPUTS)
def test_a_resumed_run_goes_on_with_the_same_rows(name: str, folder: Path) -> None:
    whole = read(name, folder, (0, BATCH), range(STEPS))
    resumed = read(name, folder, (0, BATCH), range(RESUMED, STEPS))
    for expected, found in zip(whole[RESUMED:], resumed, strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(expected, found, strict=True))


@pytest.mark.parametrize("name", [name for name in INPUTS if name != "lmdb"])
def test_another_seed_has_another_order(name: str, folder: Path) -> None:
    one, other = (read(name, folder, (0, BATCH), range(2), seed) for seed in (3, 4))
    assert not all(np.array_equal(a[0], b[0]) for a, b in zip(one, other, strict=True))
