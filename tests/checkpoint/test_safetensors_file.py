from __future__ import annotations

import errno
import multiprocessing
import os
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from netpart.checkpoint.header import DTYPES
from netpart.checkpoint.safetensors_file import create_checkpoint, join_checkpoint, open_checkpoint, partial_path
from netpart.errors import DataError
from netpart.spec import Region, Shape, extent, subtract, whole_region

SHAPES = st.lists(st.integers(0, 5), max_size=3).map(tuple)
TENSORS = st.dictionaries(
    st.text(min_size=1, max_size=6).filter(lambda name: name != "__metadata__"),
    st.tuples(st.sampled_from(sorted(DTYPES)), SHAPES),
    min_size=1,
    max_size=4,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("checkpoints")


def counted(dtype: str, shape: Shape, start: int = 1) -> NDArray[Any]:
    return np.arange(start, start + prod(shape)).reshape(shape).astype(DTYPES[dtype])


def draw_box(data: st.DataObject, region: Region) -> Region:
    return tuple((a, data.draw(st.integers(a, hi))) for lo, hi in region for a in [data.draw(st.integers(lo, hi))])


def crop(array: NDArray[Any], box: Region) -> NDArray[Any]:
    return np.asarray(array[tuple(slice(lo, hi) for lo, hi in box)])


def save(path: Path, tensors: dict[str, NDArray[Any]], metadata: dict[str, str] | None = None) -> None:
    names = {np.dtype(dtype): name for name, dtype in DTYPES.items()}
    writer = create_checkpoint(
        path, {name: (names[array.dtype], array.shape) for name, array in tensors.items()}, metadata
    )
    for name, array in tensors.items():
        writer.write_region(name, whole_region(array.shape), array)
    writer.finish()


@given(tensors=TENSORS, data=st.data())
def test_the_parts_that_several_write_make_the_whole_for_the_library(
    folder: Path, tensors: dict[str, tuple[str, Shape]], data: st.DataObject
) -> None:
    path = folder / "a.safetensors"
    arrays = {name: counted(dtype, shape) for name, (dtype, shape) in tensors.items()}
    owner = create_checkpoint(path, tensors, {"step": "7"})
    with join_checkpoint(path) as other:
        for name, array in arrays.items():
            box = draw_box(data, whole_region(array.shape))
            owner.write_region(name, box, crop(array, box))
            rest = subtract(whole_region(array.shape), box) if array.ndim else []
            for part in rest:
                other.write_region(name, part, crop(array, part))
    owner.finish()
    loaded = load_file(path)
    assert loaded.keys() == arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(loaded[name], array)
        assert loaded[name].dtype == array.dtype
    with safe_open(path, "numpy") as file:
        assert file.metadata()["step"] == "7"


@given(tensors=TENSORS, data=st.data(), strided=st.booleans())
def test_any_box_of_a_file_of_the_library_equals_numpy(
    folder: Path, tensors: dict[str, tuple[str, Shape]], data: st.DataObject, strided: bool
) -> None:
    path = folder / "b.safetensors"
    arrays = {name: counted(dtype, shape) for name, (dtype, shape) in tensors.items()}
    save_file(arrays, path, {"note": "é"})
    with open_checkpoint(path) as checkpoint:
        assert checkpoint.metadata == {"note": "é"}
        assert {name: (tensor.dtype, tensor.shape) for name, tensor in checkpoint.tensors.items()} == tensors
        for name, array in arrays.items():
            box = draw_box(data, whole_region(array.shape))
            out = np.full(extent(box), -1, array.dtype, order="F" if strided else "C")
            checkpoint.read_region(name, box, out)
            np.testing.assert_array_equal(out, crop(array, box))


def test_a_strided_array_is_written_as_it_reads(tmp_path: Path) -> None:
    array = counted("F32", (4, 6))
    save(tmp_path / "a", {"w": array.T})
    np.testing.assert_array_equal(load_file(tmp_path / "a")["w"], array.T)


@pytest.mark.parametrize(("stored", "wanted"), [("F32", np.float64), ("F64", np.float32), ("I32", np.int64)])
def test_widths_convert_when_read(tmp_path: Path, stored: str, wanted: Any) -> None:
    save(tmp_path / "a", {"w": counted(stored, (3, 4))})
    out = np.zeros((2, 4), wanted)
    with open_checkpoint(tmp_path / "a") as checkpoint:
        checkpoint.read_region("w", ((1, 3), (0, 4)), out)
    np.testing.assert_array_equal(out, np.arange(5, 13).reshape(2, 4))


def test_a_file_cut_anywhere_is_refused(tmp_path: Path) -> None:
    save(tmp_path / "a", {"w": counted("F32", (2, 3)), "n": counted("I64", ())}, {"step": "3"})
    content = (tmp_path / "a").read_bytes()
    for length in range(len(content)):
        (tmp_path / "cut").write_bytes(content[:length])
        with pytest.raises(DataError, match="cut: expected"):
            open_checkpoint(tmp_path / "cut")
    (tmp_path / "long").write_bytes(content + b"\0")
    with pytest.raises(DataError, match="something was appended"):
        open_checkpoint(tmp_path / "long")


@given(place=st.integers(0, 200), byte=st.integers(0, 255))
def test_a_changed_byte_is_a_data_error_or_another_legal_file(folder: Path, place: int, byte: int) -> None:
    path = folder / "c.safetensors"
    arrays = {"w": counted("F32", (2, 3)), "n": counted("I64", (2,))}
    save_file(arrays, path)
    content = bytearray(path.read_bytes())
    content[place % len(content)] = byte
    path.write_bytes(content)
    try:
        checkpoint = open_checkpoint(path)
    except DataError:
        return
    with checkpoint:
        for name, tensor in checkpoint.tensors.items():
            checkpoint.read_region(name, whole_region(tensor.shape), np.zeros(tensor.shape, tensor.item))


def test_a_file_that_shrinks_while_open_is_refused(tmp_path: Path) -> None:
    save(tmp_path / "a", {"w": counted("F32", (4,))})
    with open_checkpoint(tmp_path / "a") as checkpoint:
        with open(tmp_path / "a", "r+b") as file:
            file.truncate((tmp_path / "a").stat().st_size - 4)
        with pytest.raises(DataError, match="expected 4 more, got the end of the file"):
            checkpoint.read_region("w", ((0, 4),), np.zeros(4, np.float32))


def test_a_checkpoint_appears_only_when_it_is_finished(tmp_path: Path) -> None:
    path = tmp_path / "made" / "a"
    save(path, {"w": counted("F32", (3,))})
    writer = create_checkpoint(path, {"w": ("F32", (3,))})
    writer.write_region("w", ((0, 3),), counted("F32", (3,), start=9))
    assert load_file(path)["w"].tolist() == [1, 2, 3]
    writer.finish()
    assert load_file(path)["w"].tolist() == [9, 10, 11]
    assert list(path.parent.iterdir()) == [path]


def test_an_abandoned_checkpoint_leaves_nothing(tmp_path: Path) -> None:
    create_checkpoint(tmp_path / "a", {"w": ("F32", (3,))}).abandon()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(DataError, match=r"a\.partial: expected a checkpoint, got nothing there"):
        join_checkpoint(tmp_path / "a")


def test_what_a_killed_run_left_is_replaced(tmp_path: Path) -> None:
    create_checkpoint(tmp_path / "a", {"w": ("F32", (3,))}).write_region("w", ((0, 3),), counted("F32", (3,)))
    create_checkpoint(tmp_path / "a", {"v": ("F64", (2,))}).finish()
    assert {name: array.tolist() for name, array in load_file(tmp_path / "a").items()} == {"v": [0, 0]}


def test_the_file_is_sparse_until_it_is_written(tmp_path: Path) -> None:
    create_checkpoint(tmp_path / "a", {"w": ("F32", (2**22,))})
    status = partial_path(tmp_path / "a").stat()
    assert status.st_size > 2**24
    assert status.st_blocks * 512 < 2**20


def _write_rows(path: Path, rank: int, rows: int) -> None:
    with join_checkpoint(path) as writer:
        box = ((rank * rows, (rank + 1) * rows), (0, 5))
        writer.write_region("w", box, np.full((rows, 5), rank, np.float32))


def test_processes_write_one_file_together(tmp_path: Path) -> None:
    owner = create_checkpoint(tmp_path / "a", {"w": ("F32", (6, 5))})
    context = multiprocessing.get_context("spawn")
    others = [context.Process(target=_write_rows, args=(tmp_path / "a", rank, 2)) for rank in range(3)]
    for other in others:
        other.start()
    for other in others:
        other.join()
    assert [other.exitcode for other in others] == [0, 0, 0]
    owner.finish()
    np.testing.assert_array_equal(load_file(tmp_path / "a")["w"], np.repeat(np.arange(3), 2)[:, None] * np.ones(5))


@pytest.mark.parametrize(
    ("name", "box", "array", "complaint"),
    [
        ("v", ((0, 2),), np.zeros(2, np.float32), "expected tensor 'v', got tensors w"),
        ("w", ((0, 2),), np.zeros(2, np.float32), "w: expected a region of shape"),
        ("w", ((0, 3), (0, 3)), np.zeros((3, 3), np.float32), "w: expected a region of shape"),
        ("w", ((0, 2), (0, 3)), np.zeros((3, 2), np.float32), "w: expected a region of shape"),
        ("w", ((0, 2), (0, 3)), np.zeros((2, 3), np.int32), "w: expected an array of F32, got int32"),
    ],
)
def test_what_does_not_fit_the_tensor_is_refused(
    tmp_path: Path, name: str, box: Region, array: NDArray[Any], complaint: str
) -> None:
    with create_checkpoint(tmp_path / "a", {"w": ("F32", (2, 3))}) as writer:
        with pytest.raises(DataError, match=complaint):
            writer.write_region(name, box, array)
        writer.finish()
    reading = complaint.replace("an array of F32, got int32", "a tensor that fits int32, got F32")
    with open_checkpoint(tmp_path / "a") as checkpoint, pytest.raises(DataError, match=reading):
        checkpoint.read_region(name, box, array)


def test_a_full_disk_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    writer = create_checkpoint(tmp_path / "a", {"w": ("F32", (2, 3))})
    writer.write_region("w", ((0, 2), (0, 3)), np.zeros((2, 3), np.float32))
    monkeypatch.setattr(os, "pwrite", full)
    told = r"/a: expected room for a checkpoint, got no space left on device; free some, and go on with --resume"
    with pytest.raises(DataError, match=told):
        writer.close()
    writer.abandon()
    writer = create_checkpoint(tmp_path / "a", {"w": ("F32", (2, 3))})
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DataError, match=told):
        writer.finish()
    writer.abandon()
    assert list(tmp_path.iterdir()) == []
