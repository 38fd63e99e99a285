"""Rows of scans: resampled, normalised, in the table's order, and the same whichever box is asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import netpart.data.scans.resampled_scans as scans_module
from netpart.data.resize import resize_array
from netpart.data.scans.augmentation import Changes, ScanChange
from netpart.data.scans.nifti import NiftiScan, save_volume
from netpart.data.scans.resampled_scans import ScanRows, voxel_moments
from netpart.data.scans.scan_table import LabelledScan, read_scan_table, refuse_scan_labels
from netpart.errors import DataError
from netpart.spec import Region, extent

pytest.importorskip("nibabel")

SHAPE, SPACE = (7, 6, 9), (4, 5, 12)


@pytest.fixture(scope="module")
def volumes(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Path, NDArray[Any]]]:
    folder, random = tmp_path_factory.mktemp("scans"), np.random.default_rng(1)
    found = []
    for k in range(3):
        values = random.integers(0, 900, SHAPE).astype(np.int16) * (random.random(SHAPE) < 0.7)
        save_volume(folder / f"{k}.nii.gz", values.astype(np.int16), np.eye(4))
        found.append((folder / f"{k}.nii.gz", values))
    return found


def table(volumes: list[tuple[Path, NDArray[Any]]]) -> list[LabelledScan]:
    return [LabelledScan(path, k) for k, (path, _) in enumerate(volumes)]


def changed(change: ScanChange) -> Changes:
    return lambda step, lo, hi: [change] * (hi - lo)


def read(scans: ScanRows, step: int, lo: int, hi: int, box: Region | None = None) -> NDArray[Any]:
    data = np.full((hi - lo, *(extent(box) if box else scans.shape)), np.nan)
    scans.read(step, lo, hi, data, None, box)
    return data


def test_voxels_around_the_brain_stay_and_the_others_are_normal(volumes: Any) -> None:
    data = read(ScanRows(table(volumes), SHAPE, batch=3), 0, 0, 3)
    for row, (_, values) in zip(data[:, 0], volumes, strict=True):
        inside = row[values != 0]
        assert abs(inside.mean()) < 1e-5
        assert abs(inside.std() - 1) < 1e-5
        assert not row[values == 0].any()


def test_a_volume_is_resampled_to_the_shape(volumes: Any) -> None:
    data = read(ScanRows(table(volumes), SPACE, batch=3, normalise=False), 0, 0, 3)
    for row, (_, values) in zip(data[:, 0], volumes, strict=True):
        assert np.allclose(row, resize_array(values, SPACE), rtol=1e-5)
    flat = read(ScanRows(table(volumes), SHAPE, batch=3, normalise=False), 0, 0, 3)
    assert np.array_equal(flat[:, 0], np.stack([values for _, values in volumes]))


@pytest.mark.parametrize("flip", [0, 1])
@pytest.mark.parametrize("box", [((0, 2), (1, 5), (3, 9)), ((1, 4), (0, 1), (0, 12)), ((3, 4), (4, 5), (11, 12))])
def test_a_box_is_a_part_of_the_whole(flip: int, box: Region, volumes: Any) -> None:
    scans = ScanRows(table(volumes), SPACE, batch=2, changes=changed(ScanChange(bool(flip))))
    whole = read(scans, 1, 0, 2)
    part = read(scans, 1, 0, 2, ((0, 1), *box))
    assert np.allclose(part, whole[(slice(None), slice(None), *(slice(*ends) for ends in box))], atol=1e-5)


def test_a_mirrored_scan_has_its_sides_exchanged(volumes: Any) -> None:
    plain, turned = (
        ScanRows(table(volumes), SPACE, batch=3, changes=changed(ScanChange(flip))) for flip in (False, True)
    )
    assert np.allclose(read(turned, 0, 0, 3)[:, :, ::-1], read(plain, 0, 0, 3), atol=1e-6)


def test_rows_follow_the_table_around_its_end(volumes: Any) -> None:
    scans, labels = ScanRows(table(volumes), SPACE, batch=2), np.zeros(2, np.int32)
    seen = []
    for step in range(3):
        scans.read(step, 0, 2, None, labels)
        seen += labels.tolist()
    assert seen == [0, 1, 2, 0, 1, 2]


def test_moments_of_a_scan_that_does_not_vary_change_nothing(tmp_path: Path) -> None:
    save_volume(tmp_path / "flat.nii", np.full((2, 2, 2), 7, np.int16), np.eye(4))
    assert voxel_moments(NiftiScan(tmp_path / "flat.nii")) == (0.0, 1.0)
    save_volume(tmp_path / "nan.nii", np.full((2, 2, 2), np.nan, np.float32), np.eye(4))
    with pytest.raises(DataError, match="finite voxels"):
        voxel_moments(NiftiScan(tmp_path / "nan.nii"))


def test_a_drift_is_smooth_and_leaves_what_is_around_the_brain(volumes: Any) -> None:
    nodes = np.zeros((3, 3, 3))
    nodes[0], nodes[2] = -1.0, 1.0
    plain, drifted = (
        read(ScanRows(table(volumes), SHAPE, batch=3, changes=changed(change)), 0, 0, 3)
        for change in (ScanChange(), ScanChange(drift=nodes))
    )
    assert not drifted[plain == 0].any()
    added = np.where(plain == 0, np.nan, drifted - plain)
    expected = np.interp((np.arange(7) + 0.5) * 3 / 7 - 0.5, [0, 1, 2], [-1, 0, 1])
    assert np.allclose(np.nanmean(added, axis=(0, 1, 3, 4)), expected, atol=1e-5)


CHANGE = ScanChange(True, np.random.default_rng(3).random((3, 3, 3)))


def test_what_is_kept_on_disk_is_what_was_read(volumes: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    boxes: list[Region] = [((0, 1), (0, 4), (0, 5), (0, 12)), ((0, 1), (1, 3), (0, 5), (2, 9))]
    each = [4 * 5 * 12 * 4, 2 * 5 * 7 * 4]
    plain = ScanRows(table(volumes), SPACE, batch=3, changes=changed(CHANGE))
    kept = ScanRows(table(volumes), SPACE, batch=3, changes=changed(CHANGE), room=3 * each[0] + 2 * each[1])
    first = [[read(scans, 0, 0, 3, box) for box in boxes] for scans in (plain, kept)]
    opened = list[str]()

    def noted(path: Path) -> NiftiScan:
        opened.append(path.name)
        return NiftiScan(path)

    monkeypatch.setattr(scans_module, "NiftiScan", noted)
    again = [read(kept, 1, 0, 3, box) for box in boxes]
    for found in (first[1], again):
        assert all(np.array_equal(a, b) for a, b in zip(first[0], found, strict=True))
    assert opened == ["2.nii.gz"], "two of three boxes of the second kind have room"


WRONG = {
    "": "got none",
    "path,label\n": "got none",
    "a\n": ":1: expected",
    "a,1\nb,x\n": ":2: expected",
    "a,1,2\n": "a,1,2",
}


@pytest.mark.parametrize(("text", "message"), WRONG.items())
def test_a_wrong_table_is_told(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(DataError, match=message):
        read_scan_table(tmp_path / "t.csv")


def test_a_class_too_many_is_told_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("path,label\na,1\nb,7\n")
    table = read_scan_table(tmp_path / "t.csv")
    assert [scan.label for scan in table] == [1, 7]
    refuse_scan_labels(table, 8)
    refuse_scan_labels(table, 2, ignored=7)
    with pytest.raises(
        DataError, match=r"t\.csv:3: expected a class from 0 to 6, got 7; correct it, or give the layer"
    ):
        refuse_scan_labels(table, 7)


def test_paths_count_from_the_folder_of_the_table(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("path,label\nx/a.nii,1\n/b.nii,0\n")
    assert read_scan_table(tmp_path / "t.csv") == [
        LabelledScan(tmp_path / "x" / "a.nii", 1),
        LabelledScan(Path("/b.nii"), 0),
    ]
    with pytest.raises(DataError, match="nothing there"):
        read_scan_table(tmp_path / "u.csv")


@pytest.mark.parametrize("label", ["9" * 5000, "2147483648", "x" * 200_000, '"'])
def test_a_label_that_no_class_has_is_told(label: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(f"a,1\nb,{label}\n")
    with pytest.raises(DataError, match=r"t\.csv:(2:)? expected .*, got ") as raised:
        read_scan_table(tmp_path / "t.csv")
    assert len(str(raised.value)) < 400
