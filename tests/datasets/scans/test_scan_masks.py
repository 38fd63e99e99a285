"""Masks of scans: the nearest voxels, wherever the mask lies in its file, and what a mask may not be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from netpart.data.scans import nifti
from netpart.data.scans.augmentation import ScanChange
from netpart.data.scans.nifti import NiftiScan, save_volume
from netpart.data.scans.resampled_scans import ScanRows
from netpart.data.scans.scan_masks import find_absent_mask, open_mask, read_mask, refuse_mask_labels
from netpart.data.scans.scan_table import LabelledScan, read_scan_table
from netpart.errors import DataError, MissingData

nibabel = pytest.importorskip("nibabel")

SHAPE = (7, 6, 9)
AFFINE = np.array([[2.0, 0.1, 0, -7], [-0.1, 2, 0, 5], [0, 0, 3, 1], [0, 0, 0, 1]])
CLASSES = np.random.default_rng(1).integers(0, 5, SHAPE).astype(np.uint8)


def masked(folder: Path, classes: NDArray[Any] = CLASSES, affine: NDArray[Any] = AFFINE) -> LabelledScan:
    """A scan of zeros and ones, and its mask."""
    save_volume(folder / "scan.nii.gz", (np.arange(7 * 6 * 9).reshape(SHAPE) % 2).astype(np.int16), AFFINE)
    save_volume(folder / "mask.nii.gz", classes, affine)
    return LabelledScan(folder / "scan.nii.gz", mask=folder / "mask.nii.gz")


def nearest_by_distance(values: NDArray[Any], space: tuple[int, ...]) -> NDArray[Any]:
    """The voxel whose centre is nearest, of two the later one, by a search along each axis."""
    for axis, target in enumerate(space):
        centres, count = [(i + 0.5) / values.shape[axis] for i in range(values.shape[axis])], values.shape[axis]
        wanted = [(i + 0.5) / target for i in range(target)]
        found = [min((round(abs(centres[i] - at), 9), -i) for i in range(count))[1] * -1 for at in wanted]
        values = values.take(found, axis)
    return values


@pytest.mark.parametrize("space", [SHAPE, (4, 5, 12), (14, 1, 9), (3, 13, 5)])
def test_a_voxel_gets_the_class_of_the_nearest(
    space: tuple[int, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nifti, "SLAB", 100)  # several slabs
    found = read_mask(open_mask(masked(tmp_path)), space)
    assert found.dtype == np.int32
    assert np.array_equal(found, nearest_by_distance(CLASSES, space))


def test_a_mask_may_have_other_axes_than_its_scan(tmp_path: Path) -> None:
    labelled = masked(tmp_path)
    image = nibabel.load(tmp_path / "mask.nii.gz")
    turned = image.as_reoriented(np.array([[2, -1], [0, 1], [1, -1]]))
    assert turned.shape == (6, 9, 7)
    nibabel.save(turned, tmp_path / "mask.nii.gz")
    assert np.array_equal(read_mask(open_mask(labelled), SHAPE), CLASSES)


def test_a_label_map_has_the_axes_and_the_affine_of_the_file(tmp_path: Path) -> None:
    labelled = masked(tmp_path)
    turned = nibabel.load(labelled.mask).as_reoriented(np.array([[2, -1], [0, 1], [1, -1]]))
    nibabel.save(turned, tmp_path / "turned.nii")
    scan = NiftiScan(tmp_path / "turned.nii")
    assert np.array_equal(scan.in_file_axes(CLASSES), np.asarray(turned.dataobj))
    assert np.allclose(scan.file_affine, turned.affine)  # a file has float32


@pytest.mark.parametrize("room", [0, 1 << 20])
def test_rows_are_flipped_with_their_scans_and_nothing_else_changes_them(room: int, tmp_path: Path) -> None:
    labelled = masked(tmp_path)
    save_volume(tmp_path / "scan.nii.gz", CLASSES.astype(np.int16), AFFINE)
    table = [labelled, labelled]
    for flip in (False, True, False):
        changes = [ScanChange(flip), ScanChange(flip, np.full((3, 3, 3), 0.25))]
        rows = ScanRows(table, SHAPE, batch=2, normalise=False, room=room, changes=lambda *_, of=changes: of)
        data, label = np.full((2, 1, *SHAPE), np.nan, np.float32), np.full((2, 7 * 6 * 9), -1, np.int32)
        for step in range(2):
            rows.read(step, 0, 2, data, label)
            assert np.array_equal(label[0].reshape(SHAPE), CLASSES[::-1] if flip else CLASSES)
            assert np.array_equal(label[1], label[0])
            assert np.array_equal(data[0, 0], label[0].reshape(SHAPE))
            assert np.allclose(data[1, 0], np.where(data[0, 0] == 0, 0, data[0, 0] + 0.25))


def test_an_affine_that_was_rounded_is_that_of_the_scan(tmp_path: Path) -> None:
    assert open_mask(masked(tmp_path, affine=AFFINE + 1e-4)).shape == SHAPE


HALF = CLASSES.astype(np.float32)
HALF[6, 5, 8] = 1.5
NEGATIVE = CLASSES.astype(np.int16)
NEGATIVE[0, 0, 0] = -1
NAN = np.full(SHAPE, np.nan, np.float32)
MOVED, SCALED = AFFINE.copy(), AFFINE.copy()
MOVED[0, 3] += 1
SCALED[:3, :3] *= 1.2
WRONG: dict[str, tuple[Any, Any, str]] = {
    "other shape": (CLASSES[:-1], AFFINE, r"mask\.nii\.gz: expected 7x6x9 voxels, as its scan .*\.gz has, got 6x6x9;"),
    "half": (HALF, AFFINE, r"mask\.nii\.gz: expected classes, whole numbers from 0 to 2147483647, got 1\.5; save"),
    "negative": (NEGATIVE, AFFINE, "got -1;"),
    "nan": (NAN, AFFINE, "got nan;"),
    "large": (CLASSES * 1e10, AFFINE, r"got [1-4]e\+10;"),
    "moved": (CLASSES, MOVED, r"expected the affine of its scan .*, got corners that are 0\.499 voxels away;"),
    "scaled": (CLASSES, SCALED, "expected the affine of its scan"),
}  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_mask_is_named(wrong: str, tmp_path: Path) -> None:
    classes, affine, message = WRONG[wrong]
    labelled = masked(tmp_path, classes, affine)
    with pytest.raises(DataError, match=message):
        read_mask(open_mask(labelled), (2, 2, 2))
    with pytest.raises(DataError, match=message):
        refuse_mask_labels([labelled], 5)


def test_a_label_that_no_class_has_is_named(tmp_path: Path) -> None:
    labelled = masked(tmp_path)
    refuse_mask_labels([labelled], 5)
    refuse_mask_labels([labelled], 4, ignored=4)
    message = r"mask\.nii\.gz: expected classes from 0 to 3, got 4; .* or write ignore_index: 4 in the loss"
    with pytest.raises(DataError, match=message):
        refuse_mask_labels([labelled], 4)
    with pytest.raises(DataError, match="expected classes from 0 to 2 or 4, which is ignored, got 3;"):
        refuse_mask_labels([labelled], 3, ignored=4)


def test_an_absent_mask_is_found_without_reading_one(tmp_path: Path) -> None:
    labelled = masked(tmp_path)
    absent = LabelledScan(labelled.path, mask=tmp_path / "absent.nii")
    find_absent_mask([labelled])
    with pytest.raises(MissingData, match=r"absent\.nii: expected the mask of .*scan\.nii\.gz, got nothing there;"):
        find_absent_mask([labelled, absent])


def test_a_table_says_by_its_header_what_a_scan_has(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    scan = tmp_path / "a.nii"
    for text, wanted in (
        ("a.nii,3\n", LabelledScan(scan, 3)),
        ("path, label\na.nii,3\n", LabelledScan(scan, 3)),
        ("path,mask\na.nii,m/b.nii\n", LabelledScan(scan, mask=tmp_path / "m" / "b.nii")),
        ("path\na.nii\n", LabelledScan(scan)),
    ):
        table.write_text(text)
        assert read_scan_table(table) == [wanted]
    for text, message in (
        ("path,masks\na,b\n", r"expected the columns `path,label` or `path,mask`, got path,masks; correct the header"),
        ("path,mask\na\n", r"t\.csv:2: expected `path,mask`, got 'a'"),
        ("path,mask\na,\n", r"t\.csv:2: expected `path,mask`, got 'a,'"),
        ("path,mask\n", r"expected lines `path,mask`, got none"),
    ):
        table.write_text(text)
        with pytest.raises(DataError, match=message):
            read_scan_table(table)
