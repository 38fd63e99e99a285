"""An epoch is a permutation: each row once, in another order each time, and no place prefers some rows."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Callable
from io import BytesIO
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from google.protobuf import text_format
from numpy.typing import NDArray

from netpart.data.scans.nifti import save_volume
from netpart.data.stores.record import Record, encode_record
from netpart.data.stores.store import KvWriter
from netpart.layers import layer_class
from netpart.layers.inputs.rows import RowInput
from netpart.proto.job_pb2 import LayerProto
from tests.datasets.samples import encoded
from tests.thorough import THOROUGH

ROWS = 100_000 if THOROUGH else 5_000
BATCH = 625
EPOCHS = 4
TENTHS = 10
BOUND = 145.0
"""Above 99.9 % of what chance gives for a table of TENTHS times TENTHS counts, of 81 degrees of freedom."""


def write_records(folder: Path) -> str:
    with KvWriter(folder / "a.bin") as writer:
        for n in range(ROWS):
            writer.put(b"%d" % n, encode_record(Record.from_array(np.zeros(1, np.uint8), n)))
    return 'store_conf { path: "a.bin" shape: 1 shuffle: true BATCH }'


def write_csv(folder: Path) -> str:
    (folder / "a.csv").write_text("".join(f"{n},0\n" for n in range(ROWS)))
    return 'store_conf { path: "a.csv" shape: 1 shuffle: true BATCH }'


def write_arrays(folder: Path) -> str:
    np.savez(folder / "a.npz", x=np.zeros((ROWS, 1), np.float32), y=np.arange(ROWS))
    return 'array_conf { path: "a.npz" data: "x" label: "y" shuffle: true BATCH }'


def write_scans(folder: Path) -> str:
    save_volume(folder / "a.nii", np.zeros((2, 2, 2), np.int16), np.eye(4))
    (folder / "a.csv").write_text("".join(f"a.nii,{n}\n" for n in range(ROWS)))
    return 'nifti_conf { path: "a.csv" shape: [2, 2, 2] shuffle: true BATCH }'


def write_list(folder: Path) -> str:
    (folder / "a.csv").write_text("".join(f"a.png,{n}\n" for n in range(ROWS)))
    return 'image_conf { path: "a.csv" shape: [1, 2, 2] shuffle: true BATCH }'


def write_tar(folder: Path) -> str:
    with tarfile.open(folder / "a.tar", "w") as tar:
        for n in range(ROWS):
            for suffix, content in (("png", b""), ("json", json.dumps({"label": n}).encode())):
                info = tarfile.TarInfo(f"{n}.{suffix}")
                info.size = len(content)
                tar.addfile(info, BytesIO(content))
    return 'tar_conf { path: "a.tar" label: "json" } image_conf { shape: [1, 2, 2] shuffle: true BATCH }'


FAMILIES: dict[str, Callable[[Path], str]] = {
    "kRecordInput": write_records, "kCSVInput": write_csv, "kArrayInput": write_arrays, "kNiftiInput": write_scans,
    "kImageInput": write_list, "kTarInput": write_tar,
}  # fmt: skip


def read_order(kind: str, conf: str, folder: Path, rows: int) -> NDArray[np.int64]:
    """The labels, which are the numbers of the rows, of some epochs: (EPOCHS, rows)."""
    text = conf.replace("BATCH", f"batchsize: {BATCH} prefetching: false")
    layer = layer_class(kind)(text_format.Parse(f'name: "it" type: {kind} {text}', LayerProto()), (), folder=folder)
    assert isinstance(layer, RowInput)
    source = layer.open(BATCH, 7, 1)
    found = np.empty((EPOCHS * rows // BATCH, BATCH), np.int32)
    for step, labels in enumerate(found):
        source.read(step, 0, BATCH, None, labels)
    return found.reshape(EPOCHS, rows).astype(np.int64)


def tenths(order: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many rows of each tenth of the data come in each tenth of an epoch."""
    rows = len(order)
    cells = (np.arange(rows) * TENTHS // rows) * TENTHS + order * TENTHS // rows
    return np.bincount(cells, minlength=TENTHS * TENTHS)


@pytest.mark.parametrize("kind", FAMILIES)
def test_an_epoch_is_a_permutation(kind: str, tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(encoded(np.zeros((2, 2), np.uint8), "png"))
    rows = ROWS
    order = read_order(kind, FAMILIES[kind](tmp_path), tmp_path, rows)
    assert np.array_equal(np.sort(order, axis=1), np.tile(np.arange(rows), (EPOCHS, 1)))
    # Two orders of chance agree in one place on average; so does one with the order of the file.
    for one, other in pairwise([np.arange(rows), *order]):
        assert np.count_nonzero(one == other) < 12
        assert abs(np.corrcoef(one, other)[0, 1]) < 5 / rows**0.5
    for each in order:
        wanted = rows / TENTHS**2
        assert ((tenths(each) - wanted) ** 2 / wanted).sum() < BOUND
