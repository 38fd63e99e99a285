"""Scans are read box by box, right, anterior and superior first, however the file stores them."""

from __future__ import annotations

import gzip
import os
import struct
from itertools import permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from netpart.data.scans import nifti
from netpart.data.scans.nifti import NiftiScan, save_volume
from netpart.errors import DataError

nibabel = pytest.importorskip("nibabel")

VOLUME = np.arange(5 * 4 * 6, dtype=np.int16).reshape(5, 4, 6)
AFFINE = np.array([[2.0, 0, 0, -5], [0, 3, 0, -6], [0, 0, 1.5, -7], [0, 0, 0, 1]])


def stored(path: Path, order: tuple[int, ...], flips: tuple[int, ...]) -> Path:
    """VOLUME as a file with its axes in another order and direction."""
    image = nibabel.Nifti1Image(VOLUME, AFFINE)
    to = np.array(list(zip(order, flips, strict=True)))
    nibabel.save(image.as_reoriented(to), path)
    return path


@pytest.mark.parametrize("ending", ["nii", "nii.gz"])
@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_a_box_is_the_same_in_whatever_order_the_file_has_it(
    order: tuple[int, ...], ending: str, tmp_path: Path
) -> None:
    for k, flips in enumerate(product((1, -1), repeat=3)):
        scan = NiftiScan(stored(tmp_path / f"{k}.{ending}", order, flips))
        assert scan.shape == VOLUME.shape
        assert np.allclose(scan.affine, AFFINE)
        assert np.array_equal(scan.read(((0, 5), (0, 4), (0, 6))), VOLUME)
        assert np.array_equal(scan.read(((1, 3), (2, 4), (0, 5))), VOLUME[1:3, 2:4, :5])


def test_slabs_make_the_volume(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nifti, "SLAB", 50)
    scan = NiftiScan(stored(tmp_path / "a.nii", (2, 0, 1), (1, -1, 1)))
    slabs = list(scan.slabs())
    assert len(slabs) > 1
    assert np.array_equal(np.concatenate(slabs, axis=next(a for a in range(3) if differs(slabs, a))), VOLUME)


def differs(slabs: list[NDArray[Any]], axis: int) -> bool:
    """True if the slabs have not all of ``axis``."""
    return bool(slabs[0].shape[axis] < VOLUME.shape[axis])


def test_a_plain_file_is_not_read_where_nobody_looks(tmp_path: Path) -> None:
    path = tmp_path / "a.nii"
    save_volume(path, VOLUME, AFFINE)
    with open(path, "r+b") as file:
        file.truncate(path.stat().st_size - VOLUME[:, :, -1].nbytes)
    scan = NiftiScan(path)
    assert np.array_equal(scan.read(((0, 5), (0, 4), (0, 5))), VOLUME[:, :, :5])
    with pytest.raises(DataError, match="copy the file anew"):
        scan.read(((0, 5), (0, 4), (0, 6)))


@pytest.mark.parametrize("name", ["a.nii", "a.nii.gz"])
def test_what_is_written_is_read(name: str, tmp_path: Path) -> None:
    save_volume(tmp_path / name, VOLUME.astype(np.float32), AFFINE)
    save_volume(tmp_path / "b" / name, VOLUME.astype(np.float32), AFFINE)
    assert np.array_equal(NiftiScan(tmp_path / name).read(((0, 5), (0, 4), (0, 6))), VOLUME)
    assert (tmp_path / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    assert np.allclose(nibabel.load(tmp_path / name).affine, AFFINE)


def test_a_volume_alone_in_time_is_a_volume(tmp_path: Path) -> None:
    nibabel.save(nibabel.Nifti1Image(VOLUME[..., None], AFFINE), tmp_path / "one.nii")
    assert np.array_equal(NiftiScan(tmp_path / "one.nii").read(((0, 5), (0, 4), (0, 6))), VOLUME)


def test_what_is_no_scan_is_told(tmp_path: Path) -> None:
    (tmp_path / "text.nii").write_text("no scan")
    nibabel.save(nibabel.Nifti1Image(np.stack([VOLUME, VOLUME], -1), AFFINE), tmp_path / "two.nii")
    for name, message in (("absent.nii", "got nothing there"), ("text.nii", "expected a NIfTI"), ("two.nii", "axes")):
        with pytest.raises(DataError, match=message):
            NiftiScan(tmp_path / name)


def damaged(path: Path, at: int, some: bytes) -> Path:
    """``path`` with other bytes at ``at``; of a gzip file, in what is packed."""
    packed = path.suffix == ".gz"
    content = bytearray(gzip.decompress(path.read_bytes()) if packed else path.read_bytes())
    content[at : at + len(some)] = some
    path.write_bytes(gzip.compress(bytes(content), 1) if packed else bytes(content))
    return path


def read_whole(path: Path) -> NDArray[Any]:
    """All voxels of a scan."""
    scan = NiftiScan(path)
    return scan.read(tuple((0, n) for n in scan.shape))


DAMAGE = {
    "no type": (70, struct.pack("<h", 999)),
    "eight axes": (40, struct.pack("<h", 8)),
    "a negative extent": (42, struct.pack("<h", -5)),
    "an extent of 0": (42, struct.pack("<h", 0)),
    "huge extents": (42, struct.pack("<3h", 32767, 32767, 32767)),
    "voxels before the file": (108, struct.pack("<f", -1e9)),
    "voxels far behind it": (108, struct.pack("<f", 1e30)),
    "voxels nowhere": (108, struct.pack("<f", np.nan)),
    "no direction": (280, bytes(48)),
    "a direction that is no number": (280, struct.pack("<12f", *[np.nan] * 12)),
}
"""Where a header is wrong, and the bytes that are there."""


@pytest.mark.parametrize("name", ["a.nii", "a.nii.gz"])
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_header_is_told_with_the_files_name(damage: str, name: str, tmp_path: Path) -> None:
    save_volume(tmp_path / name, VOLUME, AFFINE)
    path = damaged(tmp_path / name, *DAMAGE[damage])
    with pytest.raises(DataError, match=rf"{name}: expected .*, got "):
        read_whole(path)


@pytest.mark.parametrize("at", [0, 4, 30, 150, -9, -3])
def test_a_damaged_gzip_file_is_told_with_its_name(at: int, tmp_path: Path) -> None:
    path = tmp_path / "a.nii.gz"
    save_volume(path, np.random.default_rng(1).integers(0, 999, (9, 9, 9)).astype(np.int16), AFFINE)
    content = bytearray(path.read_bytes())
    content[at] ^= 0xFF
    for wrong in (bytes(content), path.read_bytes()[:at]):
        path.write_bytes(wrong)
        try:
            read_whole(path)
        except DataError as error:
            assert str(error).startswith(f"{path}: expected ")  # noqa: PT017 - a change of its time stamp is no damage


@pytest.mark.parametrize("size", [1 << 30, 1 << 40])
def test_a_gzip_file_that_ends_in_zeros_is_not_gone_through(size: int, tmp_path: Path) -> None:
    save_volume(tmp_path / "a.nii.gz", VOLUME, AFFINE)
    os.truncate(tmp_path / "a.nii.gz", size)
    with pytest.raises(DataError, match=r"a\.nii\.gz: expected a gzip file, got one that ends in zeros"):
        NiftiScan(tmp_path / "a.nii.gz")


def test_a_volume_that_shrinks_is_an_error_that_names_it(tmp_path: Path) -> None:
    save_volume(tmp_path / "a.nii", VOLUME, AFFINE)
    scan = NiftiScan(tmp_path / "a.nii")
    os.truncate(tmp_path / "a.nii", 400)
    with pytest.raises(DataError, match=r"a\.nii: expected .*, got "):
        scan.read(((0, 5), (0, 4), (0, 6)))


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.nii")
    with pytest.raises(DataError, match=r"a\.nii: expected a NIfTI file .*, got a pipe"):
        NiftiScan(tmp_path / "a.nii")
