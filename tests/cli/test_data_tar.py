"""`netpart data tar`: its line, its options, and one message for a source that it cannot copy."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Netpart
from tests.datasets.samples import photos


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return photos(tmp_path)


def test_the_line_of_the_command(netpart: Netpart) -> None:
    said = netpart("data", "tar", "photos", "out", "--shard-mib", 1).out
    assert said == "out: made 1 tar file of 11 images; classes from 0: a2, a10, b\n"
    assert netpart("data", "tar", "photos", "out", "--masks", "masks").out == "out: made 1 tar file of 11 images\n"
    ordered = netpart("data", "tar", "photos", "out", "--classes", "b", "a10", "a2")
    assert ordered.out.endswith("classes from 0: b, a10, a2\n")


def test_options_that_are_refused(netpart: Netpart) -> None:
    assert (
        "--shard-mib: expected a whole number from 1" in netpart("data", "tar", "photos", "out", "--shard-mib", 0).err
    )
    answer = netpart("data", "tar", "masks.csv", "out", "--masks", "masks")
    assert (answer.code, answer.err.count("\n")) == (1, 1)
    assert "expected a folder of images with image_conf.masks, got a list" in answer.err


@pytest.mark.parametrize(("source", "code"), [("absent", 1), ("/dev/zero", 1), ("photos/a2", 1)])
def test_a_source_without_classes_of_images(source: str, code: int, netpart: Netpart) -> None:
    answer = netpart("data", "tar", source, "out")
    assert (answer.code, answer.out) == (code, "")
    assert answer.err.startswith(f"error: {source}: expected ")
    assert answer.err.count("\n") == 1
    assert not Path("out").exists()


def test_a_folder_of_other_files_is_not_replaced(netpart: Netpart) -> None:
    answer = netpart("data", "tar", "photos", "masks")
    assert answer.code == 2
    assert "masks: expected a new folder, or one of shards, got a folder with 'a10'; name a new folder" in answer.err
