"""What lies in a checkpoint is what was saved, finite, and of the shape that is asked for, or it is refused."""

from __future__ import annotations

import os
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.numpy import save_file

from netpart.checkpoint import checksums
from netpart.checkpoint.checksums import BLOCK, WrittenRange, are_finite
from netpart.checkpoint.header import DTYPES, LENGTH
from netpart.checkpoint.safetensors_file import (
    CheckpointWriter,
    create_checkpoint,
    join_checkpoint,
    open_checkpoint,
    partial_path,
)
from netpart.errors import DataError
from netpart.spec import Region, extent, whole_region

Tensors = dict[str, NDArray[Any]]
LARGE = np.linspace(-1, 1, BLOCK // 4 + 3, dtype=np.float32)
"""A tensor of more than one block."""
MATRIX = 1000, 900
SOME: Tensors = {
    "fc/w": np.arange(6, dtype=np.float32).reshape(2, 3),
    "n": np.arange(3, dtype=np.int64),
    "large": LARGE,
}


def write(path: Path, tensors: Tensors) -> list[str]:
    """Writes a checkpoint; the names of those that are not finite."""
    names = {np.dtype(dtype): name for name, dtype in DTYPES.items()}
    writer = create_checkpoint(
        path, {name: (names[array.dtype], array.shape) for name, array in tensors.items()}, {"step": "7"}
    )
    for name, array in tensors.items():
        writer.write_region(name, whole_region(array.shape), array)
    bad = writer.seal()
    writer.place()
    return bad


def verify(path: Path, **shapes: tuple[int, ...]) -> None:
    with open_checkpoint(path) as file:
        file.verify({name: [shape] for name, shape in shapes.items()})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("checksums")


def test_the_library_reads_the_checksums_of_every_tensor(tmp_path: Path) -> None:
    assert write(tmp_path / "a", SOME) == []
    with safe_open(tmp_path / "a", "numpy") as file:
        said = file.metadata()["crc32"]
        expected = [zlib.crc32(file.get_tensor(name).tobytes()) for name in sorted(file.keys())]
    assert [int(said[at : at + 8], 16) for at in range(0, len(said), 8)] == expected
    verify(tmp_path / "a", **{"fc/w": (2, 3), "large": LARGE.shape})


@given(place=st.integers(0, 23), bit=st.integers(0, 7))
def test_a_bit_that_changed_is_found(folder: Path, place: int, bit: int) -> None:
    path = folder / "bit"
    write(path, {"w": SOME["fc/w"]})
    content = bytearray(path.read_bytes())
    content[len(content) - 24 + place] ^= 1 << bit
    path.write_bytes(content)
    with pytest.raises(
        DataError, match=r"bit: w: expected the bytes that were saved, got others: its checksum differs"
    ):
        verify(path, w=(2, 3))


def test_what_was_never_sealed_is_refused(tmp_path: Path) -> None:
    create_checkpoint(tmp_path / "a", {"w": ("F32", (2,))}).close()
    partial_path(tmp_path / "a").rename(tmp_path / "a")
    with pytest.raises(DataError, match=r"a: crc32: expected 8 .* for each of 1 tensors, got a file that was not fin"):
        verify(tmp_path / "a", w=(2,))


@pytest.mark.parametrize(
    "said", ["", "0", "0123456", "0123456g", "+1234567", "0x123456", "0_1_2_3_", "٣٣٣٣٣٣٣٣", "0" * 16]
)
def test_what_are_no_checksums_is_refused(tmp_path: Path, said: str) -> None:
    save_file({"w": np.zeros(2, np.float32)}, tmp_path / "a", {"crc32": said})
    with pytest.raises(DataError, match="crc32: expected 8 hexadecimal digits for each of 1 tensors, got"):
        verify(tmp_path / "a", w=(2,))


def test_other_tools_write_none(tmp_path: Path) -> None:
    save_file({"w": np.zeros((2, 3), np.float32), "of no interest": np.full(2, np.nan)}, tmp_path / "a")
    verify(tmp_path / "a", w=(2, 3))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("place", [0, BLOCK // 4, -1])
def test_what_is_not_finite_is_named_and_refused(tmp_path: Path, value: float, dtype: Any, place: int) -> None:
    array = LARGE.astype(dtype)
    array[place] = value
    assert write(tmp_path / "a", {"v": LARGE, "w": array}) == ["w"]
    verify(tmp_path / "a", v=LARGE.shape)
    with pytest.raises(
        DataError, match="w: expected finite numbers, got nan or infinity; the run that saved it had diverged"
    ):
        verify(tmp_path / "a", w=LARGE.shape)


@pytest.mark.parametrize("value", [3e38, -3e38, 1e-45])
def test_large_numbers_whose_squares_overflow_are_finite(value: float) -> None:
    array = LARGE.copy()
    array[[0, -1]] = value
    assert are_finite(array)
    assert are_finite(np.full(3, 1e308))
    assert are_finite(np.zeros(0))


def halves(path: Path, *boxes: Region) -> CheckpointWriter:
    """A file of one matrix of ones, of which several workers have written ``boxes``; its owner."""
    owner = create_checkpoint(path, {"w": ("F32", MATRIX)})
    for box in boxes:
        with join_checkpoint(path) as other:
            other.write_region("w", box, np.ones(extent(box), np.float32))
        for each in other.written["w"]:
            owner.note_written("w", each)
    return owner


def test_what_workers_have_scanned_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    owner = halves(tmp_path / "a", ((400, 1000), (0, 900)), ((0, 400), (0, 900)))
    with monkeypatch.context() as patch:
        patch.setattr(checksums, "scan_tensor", None)
        owner.finish()
    verify(tmp_path / "a", w=MATRIX)


@pytest.mark.parametrize(
    "boxes",
    [
        [((0, 1000), (0, 300)), ((0, 1000), (300, 900))],
        [((0, 1000), (0, 900)), ((0, 9), (0, 9))],
        [((0, 500), (0, 900)), ((400, 1000), (0, 900))],
        [((0, 500), (0, 900))],
    ],
    ids=["columns", "again", "overlapping", "missing"],
)
def test_what_was_written_another_way_is_read(tmp_path: Path, boxes: list[Region]) -> None:
    halves(tmp_path / "a", *boxes).finish()
    verify(tmp_path / "a", w=MATRIX)


def test_bytes_that_change_on_the_way_to_the_disk_are_found(tmp_path: Path) -> None:
    """What a worker wrote is compared with what it had in memory."""
    owner = halves(tmp_path / "a", ((0, 1000), (0, 900)))
    with open(partial_path(tmp_path / "a"), "r+b") as file:
        file.seek(-5, os.SEEK_END)
        file.write(b"!")
    owner.finish()
    with pytest.raises(DataError, match="w: expected the bytes that were saved, got others"):
        verify(tmp_path / "a", w=MATRIX)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("v", WrittenRange(0, 4, 0, True)),
        ("w", WrittenRange(0, 3_600_001, 0, True)),
        ("w", WrittenRange(3_600_000, 1, 0, True)),
        ("w", WrittenRange(8, -4, 0, True)),
    ],
)
def test_ranges_that_no_worker_can_have_written_are_refused(tmp_path: Path, name: str, found: WrittenRange) -> None:
    owner = halves(tmp_path / "a")
    with pytest.raises((LookupError, ValueError)):
        owner.note_written(name, found)
    owner.abandon()


@pytest.mark.parametrize("shapes", [[(2, 3)], [(9, 9), (2, 3)], [(2, 1, 3)], [(1, 2, 3, 1)]])
def test_a_shape_may_be_asked_for_with_axes_of_one_element(tmp_path: Path, shapes: list[tuple[int, ...]]) -> None:
    write(tmp_path / "a", SOME)
    with open_checkpoint(tmp_path / "a") as file:
        file.verify({"fc/w": shapes})


@pytest.mark.parametrize("shape", [(3, 2), (6,), (2, 4), ()])
def test_another_shape_is_refused_also_of_as_many_elements(tmp_path: Path, shape: tuple[int, ...]) -> None:
    write(tmp_path / "a", SOME)
    with pytest.raises(DataError, match=r"fc/w: expected shape \[.*\], got \[2, 3\]; use this net's checkpoint"):
        verify(tmp_path / "a", **{"fc/w": shape})


def test_whole_numbers_and_what_is_missing_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "a", SOME)
    with pytest.raises(DataError, match="n: expected F32 or F64, got I64"):
        verify(tmp_path / "a", n=(3,))
    with pytest.raises(DataError, match="expected tensor 'v', got tensors fc/w, large, n"):
        verify(tmp_path / "a", v=(3,))


@given(data=st.data())
def test_any_bytes_are_a_checkpoint_or_a_data_error(folder: Path, data: st.DataObject) -> None:
    """A whole file with some of its bytes overwritten, cut out or doubled, most of them in its header."""
    path = folder / "any"
    write(path, {"fc/w": SOME["fc/w"], "n": SOME["n"]})
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        # Most of the header are spaces.
        at = data.draw(st.integers(0, 300) | st.integers(0, max(0, len(content) - 1)))
        content[at : at + data.draw(st.integers(0, 9))] = data.draw(st.binary(max_size=9))
    path.write_bytes(content)
    try:
        verify(path, **{"fc/w": (2, 3)})
    except DataError as error:
        str(error).encode()


def test_a_name_that_no_text_can_hold_is_refused(tmp_path: Path) -> None:
    text = b'{"\\ud800":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}'
    (tmp_path / "a").write_bytes(LENGTH.pack(len(text)) + text)
    with pytest.raises(DataError, match=r"expected names in UTF-8, got '\\ud800'"):
        open_checkpoint(tmp_path / "a")
