"""Folders and lists of images: their order, their classes, and what is refused."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from netpart.data.images.image_files import ImageFiles, read_image_table
from netpart.data.images.image_folder import natural_order
from netpart.errors import DataError, MissingData
from tests.datasets.samples import encoded, photo, photos


def test_names_sort_as_people_count() -> None:
    names = ["b", "class 10", "class 9", "10", "9", "01", "1", "a2", "a10"]
    assert sorted(names, key=natural_order) == ["01", "1", "9", "10", "a2", "a10", "b", "class 9", "class 10"]


def test_a_folder_is_a_class(tmp_path: Path) -> None:
    photos(tmp_path)
    (tmp_path / "photos" / "a2" / "notes.txt").write_text("not an image")
    (tmp_path / "photos" / ".hidden").mkdir()
    (tmp_path / "photos" / "b" / "deeper").mkdir()
    (tmp_path / "photos" / "b" / "deeper" / "x.PNG").write_bytes(encoded(photo(0), "png"))
    table = read_image_table(tmp_path / "photos")
    assert table.classes == ("a2", "a10", "b")
    assert table.labels is not None
    folders = [Path(image).relative_to(tmp_path / "photos").parts[0] for image in table.images]
    pairs = {*zip(table.labels[:, 0].tolist(), folders, strict=True)}
    assert pairs == {(0, "a2"), (1, "a10"), (2, "b")}
    assert [Path(i).name for i in table.images if "/b/" in i] == ["2.jpg", "5.png", "8.webp", "x.PNG"]


def test_the_job_may_name_the_classes(tmp_path: Path) -> None:
    photos(tmp_path)
    table = read_image_table(tmp_path / "photos", ["b", "a2", "a10"])
    assert table.labels is not None
    assert ("/b/" in table.images[0], table.labels[0, 0]) == (True, 0)
    with pytest.raises(DataError, match=r"photos: expected a folder for each class, got none for 'dog'; correct "):
        read_image_table(tmp_path / "photos", ["b", "a2", "a10", "dog"])
    with pytest.raises(DataError, match=r"photos: expected a class for each folder, got none for 'a10'; add it"):
        read_image_table(tmp_path / "photos", ["b", "a2"])


def test_a_class_without_images_is_refused(tmp_path: Path) -> None:
    photos(tmp_path)
    (tmp_path / "photos" / "c").mkdir()
    with pytest.raises(DataError, match=r"photos/c: expected images \(.jpeg, .jpg, .png, .webp\), got none; remove"):
        read_image_table(tmp_path / "photos")


def test_a_folder_without_classes_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.png").write_bytes(encoded(photo(0), "png"))
    with pytest.raises(DataError, match="expected a folder for each class, got none; move the images of each class"):
        read_image_table(tmp_path)


def test_masks_have_the_names_of_their_images(tmp_path: Path) -> None:
    photos(tmp_path)
    samples = ImageFiles(read_image_table(tmp_path / "photos", masks=tmp_path / "masks"))
    assert samples.labels is None
    assert samples.mask_place(0) == str(tmp_path / "masks" / "a2" / "0.png")
    assert samples.mask(0).startswith(b"\x89PNG")


def test_a_list_has_labels_or_masks(tmp_path: Path) -> None:
    photos(tmp_path)
    table = read_image_table(tmp_path / "two.csv")
    assert table.labels is not None
    assert table.labels.tolist() == [[k % 3, k % 5] for k in range(11)]
    assert table.places[3] == f"{tmp_path}/two.csv:4: {tmp_path}/photos/a2/3.png"
    masked = read_image_table(tmp_path / "masks.csv")
    assert masked.masks is not None
    assert masked.masks[0] == str(tmp_path / "masks/a2/0.png")
    (tmp_path / "headed.csv").write_text("path,label\n\nphotos/b/2.jpg,7\n")
    headed = read_image_table(tmp_path / "headed.csv")
    assert (headed.labels is not None and headed.labels.tolist(), headed.places[0][-30:]) == (
        [[7]], f"{tmp_path}/headed.csv:3: {tmp_path}/photos/b/2.jpg"[-30:]
    )  # fmt: skip


LINES = {
    "": "expected lines `path,label`, got none",
    "path,label\n": "expected lines `path,label`, got none",
    "a.jpg\n": ":1: expected `path,label` with 1 labels from 0 to 2147483647, got 'a.jpg'; correct it",
    "a.jpg,0\nb.jpg,cat\n": ":2: expected `path,label` with 1 labels from 0 to 2147483647, got 'b.jpg,cat'",
    "a.jpg,0\nb.jpg,-1\n": ":2: expected `path,label`",
    "a.jpg,0\nb.jpg,2147483648\n": ":2: expected `path,label`",
    f"a.jpg,{'9' * 5000}\n": ":1: expected `path,label`",
    "a.jpg,0,1\nb.jpg,0\n": ":2: expected `path,label` with 2 labels",
    "path,mask\na.jpg\n": ":2: expected `path,mask`, got 'a.jpg'",
    "path,mask,label\na.jpg,b.png,0\n": ": expected the columns `path,mask`, got path,mask,label; omit the others",
    "path\na.jpg\n": ":2: expected `path,label`",
    "\xff": "expected lines `path,label` in UTF-8, got",
}


@pytest.mark.parametrize("text", LINES)
def test_a_wrong_line_is_named(text: str, tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_bytes(text.encode("latin-1"))
    with pytest.raises(DataError) as error:
        read_image_table(tmp_path / "list.csv")
    assert str(error.value).startswith(f"{tmp_path}/list.csv")
    assert LINES[text] in str(error.value)
    assert "; " in str(error.value)


def test_masks_and_classes_are_those_of_folders(tmp_path: Path) -> None:
    photos(tmp_path)
    with pytest.raises(DataError, match=r"two.csv: expected a folder of images with image_conf.masks, got a list"):
        read_image_table(tmp_path / "two.csv", masks=tmp_path / "masks")
    with pytest.raises(DataError, match=r"two.csv: expected a folder of images with image_conf.classes, got a list"):
        read_image_table(tmp_path / "two.csv", ["a"])


def test_missing_data_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingData, match=r"absent: expected a folder of images or a list of them, got nothing there"):
        read_image_table(tmp_path / "absent")
    (tmp_path / "list.csv").write_text("absent.jpg,0")
    samples = ImageFiles(read_image_table(tmp_path / "list.csv"))
    with pytest.raises(DataError, match=r"list.csv:1: .*/absent.jpg: expected an image, got nothing there; correct"):
        samples.image(0)


def _make_hole(path: Path) -> None:
    path.touch()
    os.truncate(path, 1 << 40)


STRANGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "a pipe": (os.mkfifo, "a pipe; save what it brings"),
    "a device": (lambda path: path.symlink_to("/dev/zero"), "a device"),
    "a folder": (lambda path: path.mkdir(), "a folder"),
    "a hole": (_make_hole, "more than 64.0 MiB"),
    "a circle": (lambda path: path.symlink_to(path.name), "too many levels"),
}


@pytest.mark.parametrize("kind", STRANGE)
def test_what_is_no_file_is_refused_at_once(kind: str, tmp_path: Path) -> None:
    make, words = STRANGE[kind]
    make(tmp_path / "a.jpg")
    (tmp_path / "list.csv").write_text("a.jpg,0")
    with pytest.raises(DataError, match=r"list.csv:1: .*a.jpg: expected an image, got ") as error:
        ImageFiles(read_image_table(tmp_path / "list.csv")).image(0)
    assert words in str(error.value)


def test_a_label_above_the_classes_is_named(tmp_path: Path) -> None:
    photos(tmp_path)
    samples = ImageFiles(read_image_table(tmp_path / "two.csv"))
    samples.refuse_labels(5)
    with pytest.raises(DataError, match=r"two.csv:5: .*: expected a class from 0 to 3, got 4; correct it, or give"):
        samples.refuse_labels(4)
    samples.refuse_labels(4, 4)
    with pytest.raises(DataError, match=r"two.csv:5: .*expected a class from 0 to 3, got 4"):
        samples.refuse_labels(4, 255)
