"""Tar shards: read back they are the rows of the folder, bit for bit; a repetition writes equal bytes; bad files are
named before anything is written."""

from __future__ import annotations

import os
import re
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from google.protobuf import text_format

from netpart.data.make.tar_shards import make_tar_shards
from netpart.errors import NetpartError
from netpart.layers.inputs.image_input import ImageInput
from netpart.layers.inputs.images import ImagesInput
from netpart.layers.inputs.tar_input import TarInput
from netpart.proto.job_pb2 import LayerProto
from tests.datasets.samples import encoded, photo, photos

MIB = 1 << 20
CHANGED = "batchsize: 5 shape: [3, 8, 9] mirror: true least_area: 0.5 brightness: 0.2 shuffle: true"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return photos(tmp_path)


def rows(kind: type[ImagesInput], conf: str) -> list[bytes]:
    """The bytes of data and labels of three training steps."""
    proto = text_format.Parse(f'name: "data" {conf}', LayerProto())
    layer = kind(proto, ())
    source = layer.open(5, 3, 1)
    data, label = (np.zeros(spec.shape, dtype) for spec, dtype in zip(layer.outputs, ("f4", "i4"), strict=True))
    found = []
    for step in range(3):
        source.read(step, 0, 5, data, label)
        found += [data.tobytes(), label.tobytes()]
    return found


@pytest.mark.parametrize(
    ("source", "of_folder", "of_tar", "options"),
    [
        ("photos", 'path: "photos"', "", {}),
        ("photos", 'path: "photos" classes: ["b", "a2", "a10"]', "", {"classes": ["b", "a2", "a10"]}),
        ("two.csv", 'path: "two.csv"', 'label: "json"', {}),
        ("masks.csv", 'path: "masks.csv"', 'mask: "seg.png"', {}),
        ("photos", 'path: "photos" masks: "masks"', 'mask: "seg.png"', {"masks": Path("masks")}),
    ],
)
def test_the_rows_are_those_of_the_source(
    source: str, of_folder: str, of_tar: str, options: dict[str, Any], folder: Path
) -> None:
    count, shards, classes = make_tar_shards(Path(source), Path("out"), 4096, **options)
    assert count == 11
    assert shards == len(list(Path("out").iterdir())) > 2
    assert len(classes) == (0 if of_tar else 3)
    expected = rows(ImageInput, f"image_conf {{ {of_folder} {CHANGED} }}")
    assert rows(TarInput, f'tar_conf {{ path: "out/*.tar" {of_tar} }} image_conf {{ {CHANGED} }}') == expected


def test_the_bytes_of_the_images_are_unchanged_and_a_repetition_is_equal(folder: Path) -> None:
    make_tar_shards(Path("photos"), Path("one"), MIB)
    os.utime("photos/a2/0.jpg", (1, 1))
    make_tar_shards(Path("photos"), Path("deep/two"), MIB)
    assert Path("one/000000.tar").read_bytes() == Path("deep/two/000000.tar").read_bytes()
    with tarfile.open("one/000000.tar") as tar:
        members = {member.name: member for member in tar}
        assert list(members)[:4] == ["0000000.jpg", "0000000.cls", "0000001.png", "0000001.cls"]
        assert {(m.mtime, m.uid, m.gid, m.uname, m.mode) for m in members.values()} == {(0, 0, 0, "", 0o644)}
        first = tar.extractfile("0000000.jpg")
        assert first is not None
        assert first.read() == Path("photos/a2/0.jpg").read_bytes()


def test_shards_are_about_as_large_as_wanted_and_replaced_as_a_whole(folder: Path) -> None:
    assert make_tar_shards(Path("photos"), Path("out"), 1)[1] == 11
    assert make_tar_shards(Path("photos"), Path("out"), 8192)[1] == len(list(Path("out").iterdir())) < 11
    assert max(path.stat().st_size for path in Path("out").iterdir()) <= 8192 + tarfile.RECORDSIZE
    assert make_tar_shards(Path("photos"), Path("out"), MIB)[1] == 1
    assert [path.name for path in Path("out").iterdir()] == ["000000.tar"]
    assert not [path for path in Path().iterdir() if path.name.startswith(".")]


def replaced(path: str, make: Callable[[str], object]) -> Callable[[], object]:
    """A change that replaces a file."""

    def change() -> None:
        Path(path).unlink()
        make(path)

    return change


def foreign_folder() -> None:
    """Makes a folder out with a file of the user."""
    Path("out").mkdir()
    Path("out/mine.txt").touch()


FIRST, MASK = "photos/b/5.png", "masks/b/5.png"
BAD: dict[str, tuple[Callable[[], object], str, str]] = {
    "missing": (lambda: None, "absent", "absent: expected a folder of images or a list of them, got nothing there"),
    "endless": (lambda: None, "/dev/zero", "/dev/zero: expected a folder of images or a list of them, got a device"),
    "empty": (replaced(FIRST, lambda p: Path(p).touch()), "photos", f"{FIRST}: expected a PNG, JPEG or WebP"),
    "foreign": (lambda: Path(FIRST).write_bytes(b"GIF89a"), "photos", f"{FIRST}: expected a PNG, JPEG or WebP"),
    "truncated": (
        lambda: Path(FIRST).write_bytes(Path(FIRST).read_bytes()[:-40]), "photos",
        f"{FIRST}: expected an image of 40x35, got image file is truncated",
    ),
    "pipe": (replaced(FIRST, os.mkfifo), "photos", f"{FIRST}: expected an image, got a pipe"),
    "mask": (lambda: Path(MASK).unlink(), "masks.csv", f"{MASK}: expected an image, got"),
    "small mask": (
        lambda: Path(MASK).write_bytes(encoded(photo(0, 3, 4)[..., 0], "png")), "masks.csv",
        f"{MASK}: expected 40x35 pixels, as its image has, got 4x3",
    ),
    "other files": (foreign_folder, "photos", "a folder with 'mine.txt'"),
    "file": (lambda: Path("out").write_text("mine"), "photos", "out: expected a folder for tar files, got a file"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_copied_is_named_and_nothing_is_written(name: str, folder: Path) -> None:
    change, source, said = BAD[name]
    change()
    before = sorted(Path().rglob("*"))
    with pytest.raises(NetpartError, match=re.escape(said)):
        make_tar_shards(Path(source), Path("out"), 4096)
    assert sorted(Path().rglob("*")) == before
