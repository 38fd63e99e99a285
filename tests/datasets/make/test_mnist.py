from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest

from netpart.data.make.image_store import MEAN, TEST, TRAIN
from netpart.data.make.mnist import convert_mnist, read_idx
from netpart.data.stores.mean import read_mean
from netpart.data.stores.record import Record, decode_record
from netpart.data.stores.store import open_store
from netpart.errors import DataError
from tests.datasets.samples import pixels

IMAGES, LABELS = pixels(6, (4, 5)), np.array([5, 0, 4, 1, 9, 2], np.uint8)


def idx(array: np.ndarray[tuple[int, ...], np.dtype[np.uint8]]) -> bytes:
    return struct.pack(f">{1 + array.ndim}I", 0x800 + array.ndim, *array.shape) + array.tobytes()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Four training images, packed, and two test images, plain."""
    contents = {
        "train-images-idx3-ubyte.gz": gzip.compress(idx(IMAGES[:4])),
        "train-labels-idx1-ubyte.gz": gzip.compress(idx(LABELS[:4])),
        "t10k-images.idx3-ubyte": idx(IMAGES[4:]),
        "t10k-labels-idx1-ubyte": idx(LABELS[4:]),
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


def test_images_and_labels_become_records(folder: Path, tmp_path: Path) -> None:
    assert convert_mnist(folder, tmp_path / "out") == (4, 2)
    for name, start, count in ((TRAIN, 0, 4), (TEST, 4, 2)):
        with open_store("kvfile", tmp_path / "out" / name) as store:
            assert [store.key(i) for i in range(len(store))] == [b"%08d" % i for i in range(count)]
            found = [decode_record(store.value(i)) for i in range(count)]
        expected = [Record.from_array(IMAGES[start + i], int(LABELS[start + i])) for i in range(count)]
        assert found == expected
    mean = read_mean(tmp_path / "out" / MEAN, (4, 5))
    np.testing.assert_allclose(mean, IMAGES[:4].mean(axis=0), rtol=1e-6)


@pytest.mark.parametrize("packed", [False, True])
def test_every_truncation_is_a_data_error(tmp_path: Path, packed: bool) -> None:
    content = gzip.compress(idx(IMAGES)) if packed else idx(IMAGES)
    path = tmp_path / ("a.gz" if packed else "a")
    for length in range(len(content)):
        path.write_bytes(content[:length])
        with pytest.raises(DataError, match="a"):
            read_idx(path, 3)
    path.write_bytes(content)
    np.testing.assert_array_equal(read_idx(path, 3), IMAGES)


def test_labels_are_no_images(folder: Path) -> None:
    with pytest.raises(DataError, match=r"3 axes \(magic 00000803\), got 00000801"):
        read_idx(folder / "train-labels-idx1-ubyte.gz", 3)


def test_more_bytes_than_the_shape_says_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(idx(LABELS) + b"x")
    with pytest.raises(DataError, match=r"expected 6 elements for shape \(6,\), got more"):
        read_idx(tmp_path / "a", 1)


def test_a_missing_file_is_named(folder: Path, tmp_path: Path) -> None:
    (folder / "t10k-labels-idx1-ubyte").unlink()
    with pytest.raises(DataError, match=r"expected t10k-labels-idx1-ubyte or t10k-labels-idx1-ubyte\.gz"):
        convert_mnist(folder, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_images_and_labels_must_be_as_many(folder: Path, tmp_path: Path) -> None:
    (folder / "t10k-labels-idx1-ubyte").write_bytes(idx(LABELS))
    with pytest.raises(DataError, match="one label per t10k image, got 2 images, 6 labels"):
        convert_mnist(folder, tmp_path / "out")
