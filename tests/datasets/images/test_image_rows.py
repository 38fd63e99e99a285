"""Rows of images: the same bits for every reader, masks cropped with their images, errors that name the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from netpart.data.images.image_change import ImageChange, ImageChanges
from netpart.data.images.image_files import ImageFiles, read_image_table
from netpart.data.images.image_rows import ImageRows
from netpart.errors import DataError
from netpart.spec import whole_region
from tests.datasets.samples import encoded, photo, photos

SHAPE = (3, 12, 16)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return photos(tmp_path)


def drawn(step: int, lo: int, hi: int) -> list[ImageChange]:
    """Changes that depend on step and row."""
    numbers = [np.random.default_rng((step, row)).random(5).tolist() for row in range(lo, hi)]
    return [ImageChange(a, b, 0.4 + c / 2, d, e > 0.5, 0.5 + a, 0.5 + b, 0.5 + c) for a, b, c, d, e in numbers]


def rows_of(folder: Path, listed: str = "photos", changes: ImageChanges | None = drawn, **more: Any) -> ImageRows:
    masks = folder / "masks" if more.pop("masked", False) else None
    samples = ImageFiles(read_image_table(folder / listed, masks=masks))
    return ImageRows(samples, more.pop("shape", SHAPE), batch=6, changes=changes, **more)


def read(rows: ImageRows, step: int = 0, lo: int = 0, hi: int = 6, box: Any = None) -> tuple[Any, Any]:
    box = box or whole_region(rows.shape)
    data = np.full((hi - lo, *(b - a for a, b in box)), np.nan, np.float32)
    label = np.full((hi - lo, *rows.labels(box)), -1, np.int32)
    rows.read(step, lo, hi, data, label, box)
    return data, label


def test_threads_change_no_bit(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        found.append(read(rows_of(folder, masked=True), 3))
    assert all(np.array_equal(a, b) for each in found[1:] for a, b in zip(each, found[0], strict=True))


def test_a_box_is_a_region_of_the_whole(folder: Path) -> None:
    whole, label = read(rows_of(folder), 1)
    part, same = read(rows_of(folder), 1, 2, 5, ((0, 3), (4, 9), (3, 16)))
    assert np.array_equal(part, whole[2:5, :, 4:9, 3:16])
    assert np.array_equal(same, label[2:5])


def test_values_are_scaled_by_mean_and_deviation(folder: Path) -> None:
    plain = read(rows_of(folder, changes=None))[0]
    assert 0 <= plain.min() < 0.1
    assert 0.9 < plain.max() <= 1
    scaled = read(rows_of(folder, changes=None, mean=(0.1, 0.2, 0.3), std=(0.5,)))[0]
    assert np.allclose(scaled, (plain - np.reshape((0.1, 0.2, 0.3), (3, 1, 1))) / 0.5, atol=1e-6)


def test_an_image_of_the_size_of_the_output_keeps_its_values(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(encoded(photo(1, 12, 16), "png"))
    (tmp_path / "list.csv").write_text("a.png,4")
    data, label = read(rows_of(tmp_path, "list.csv", None))
    assert np.array_equal(np.rint(data[0] * 255), photo(1, 12, 16).transpose(2, 0, 1))
    assert label.tolist() == [4] * 6


def test_a_change_mirrors_the_row(folder: Path) -> None:
    still = read(rows_of(folder, changes=lambda s, lo, hi: [ImageChange(0.5, 0.5)] * (hi - lo), masked=True))
    turned = read(
        rows_of(folder, changes=lambda s, lo, hi: [ImageChange(0.5, 0.5, mirror=True)] * (hi - lo), masked=True)
    )
    assert np.array_equal(turned[0], still[0][..., ::-1])
    assert np.array_equal(turned[1].reshape(6, 12, 16), still[1].reshape(6, 12, 16)[..., ::-1])


def test_a_mask_has_the_crop_of_its_image(tmp_path: Path) -> None:
    """The mask of an image is the image itself, so that their crops can be compared, place by place."""
    stored = np.add.outer(np.arange(100), np.arange(140)).astype(np.uint8)
    for name in ("images", "masks"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.png").write_bytes(encoded(stored, "png"))
    samples = ImageFiles(read_image_table(tmp_path / "images", masks=tmp_path / "masks"))

    def placed(step: int, lo: int, hi: int) -> list[ImageChange]:
        return [each._replace(brightness=1.0, contrast=1.0, saturation=1.0) for each in drawn(step, lo, hi)]

    data, label = read(ImageRows(samples, (1, 40, 50), batch=6, changes=placed))
    # The image is interpolated, its mask is not: they differ by what neighbouring pixels do.
    assert abs(255 * data[:, 0] - label.reshape(6, 40, 50)).max() <= 4
    assert len(np.unique(label[:, 0])) > 3


def test_masks_alone_may_be_read(folder: Path) -> None:
    rows = rows_of(folder, masked=True)
    label = np.empty((6, 192), np.int32)
    rows.read(0, 0, 6, None, label)
    assert np.array_equal(label, read(rows)[1])
    assert set(np.unique(label)) == {0, 1, 2, 3}


def test_a_mask_of_another_size_is_named(folder: Path) -> None:
    (folder / "masks" / "a2" / "0.png").write_bytes(encoded(photo(0, 30, 41)[..., 0], "png"))
    said = r"masks/a2/0.png: expected 40x30 pixels, as its image has, got 41x30; make the mask anew"
    with pytest.raises(DataError, match=said):
        read(rows_of(folder, masked=True))


@pytest.mark.parametrize("threads", ["1", "3"])
def test_a_damaged_image_is_named(folder: Path, threads: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", threads)
    path = folder / "photos" / "a2" / "3.png"
    whole = path.read_bytes()
    path.write_bytes(whole[:300])
    with pytest.raises(DataError, match=r"photos/a2/3.png: expected an image of 40x33, got .*truncated"):
        read(rows_of(folder))
    path.write_bytes(whole)
    (folder / "masks" / "a2" / "3.png").unlink()
    with pytest.raises(DataError, match=r"masks/a2/3.png: expected an image, got nothing there"):
        read(rows_of(folder, masked=True))
