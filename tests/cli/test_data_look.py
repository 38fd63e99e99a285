"""`netpart data look`: tables, JSON, pictures, and one message for a job or data that it cannot read."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from tests.cli.conftest import Netpart
from tests.datasets.samples import encoded, photos
from tests.measure.input_jobs import LAYERS, input_files

JOB = """name: "look" train_steps: 1
neuralnet {{
  layer {{ name: "data" {layer} }}
  layer {{ name: "ip" type: kInnerProduct srclayers: "data" }}
}}
"""
"""The second layer has faults: what reads the data does not need it."""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_job("images")
    return photos(tmp_path)


def write_job(name: str) -> None:
    Path("job.conf").write_text(JOB.format(layer=LAYERS[name]))


def pixels_of(path: str) -> Any:
    from PIL import Image

    with Image.open(path) as image:
        return np.asarray(image).astype(int)


def test_the_tables(netpart: Netpart) -> None:
    answer = netpart("data", "look", "job.conf", "--rows", 3)
    assert (answer.code, answer.err) == (0, "")
    lines = answer.out.splitlines()
    assert lines[0] == "look: train, seed 1"
    sizes = "11 images opened: 30x40 to 40x40, 11 sizes"
    assert lines[2] == f"data: kImageInput, rows of 3x8x9, one label, batch 4; {sizes}"
    assert lines[4].split() == ["row", "label", "class", "min", "mean", "max"]
    assert [line.split()[0] for line in lines[5:8]] == ["0", "1", "2"]
    assert lines[5].split()[2] in ("a2", "a10", "b")
    assert "of 11 rows; all values are finite" in lines
    assert [line.split()[:3] for line in lines if line.endswith("%")] == [
        ["0", "a2", "4"], ["1", "a10", "4"], ["2", "b", "3"],
    ]  # fmt: skip
    assert "of 11 rows; 3 classes; class 0 is there 1.33 times as often as 2" in lines
    held = sum(path.stat().st_size for path in Path("photos").rglob("*.*"))
    assert lines[-2] == f"an epoch: 11 rows, 3 steps; 11 files, {held / 1024:.1f} KiB, as values 9.3 KiB"
    assert " rows per second, " in lines[-1]


def test_json_has_the_figures(netpart: Netpart) -> None:
    found = json.loads(netpart("data", "look", "job.conf", "--rows", 2, "--sample", 5, "--json").out)
    (data,) = found["inputs"]
    assert (data["name"], data["shape"], data["batch"], len(data["first"])) == ("data", [3, 8, 9], 4, 2)
    assert data["cost"]["rows"] == 5
    assert sum(each["count"] for each in data["classes"]) == 5
    assert {each["name"] for each in data["classes"]} == {"a2", "a10", "b"}
    assert data["epoch"]["rows"] == 11
    assert {*data["scaling"]} == {"image_conf.mean", "image_conf.std"}
    seeds = [netpart("data", "look", "job.conf", "--json", "--seed", n).out for n in (1, 2)]
    first, other = (json.loads(text)["inputs"][0]["first"] for text in seeds)
    assert first[:2] == data["first"]
    assert first != other


def test_every_kind_of_input_is_shown(folder: Path, netpart: Netpart) -> None:
    input_files(folder)
    for name in LAYERS:
        write_job(name)
        if name == "shard":
            parser = 'layer { name: "pixels" type: kMnist srclayers: "data" mnist_conf { norm_a: 255 norm_b: 0.5 } }'
            Path("job.conf").write_text(f'neuralnet {{ layer {{ name: "data" {LAYERS[name]} }} {parser} }}')
        answer = netpart("data", "look", "job.conf", "-o", "out.html", "--rows", 3)
        assert (answer.code, answer.err) == (0, ""), name
        assert answer.out.strip() in unescape(Path("out.html").read_text())


def test_a_picture_shows_the_pixels_and_the_masks(netpart: Netpart) -> None:
    """A red and a green image, whose mask is class 1 in its right half."""
    for k, colour in enumerate(((250, 0, 0), (0, 250, 0))):
        values = np.broadcast_to(np.array(colour, "u1"), (8, 8, 3))
        Path(f"{k}.png").write_bytes(encoded(np.ascontiguousarray(values), "png"))
        mask = np.zeros((8, 8), "u1")
        mask[:, 4:] = 1
        Path(f"{k}-mask.png").write_bytes(encoded(mask, "png"))
    Path("own.csv").write_text("path,mask\n0.png,0-mask.png\n1.png,1-mask.png\n")
    conf = 'image_conf { path: "own.csv" batchsize: 2 shape: [3, 8, 8] mean: 0.4 std: 0.3 }'
    Path("job.conf").write_text(JOB.format(layer=f"type: kImageInput {conf}"))
    assert netpart("data", "look", "job.conf", "-o", "deep/out.png").code == 0
    found = pixels_of("deep/out.png")
    # Each is enlarged 12 times: 96 pixels of the image, 12 between, 48 of the mask's class 0, 48 of its class 1.
    tops = np.argwhere((found == (250, 0, 0)).all(-1)).min(0)
    row = found[tops[0] + 50]
    left = tops[1]
    for start, colour in ((left, (250, 0, 0)), (left + 108, (250, 0, 0)), (left + 156, (240, 80, 0))):
        assert np.abs(row[start + 2 : start + 46] - colour).max() <= 1
    assert (row[left + 97 : left + 107] == 255).all()
    assert (found == (0, 250, 0)).all(-1).sum() == 96 * (96 + 48)


def test_an_svg_has_the_same_pictures_and_captions(netpart: Netpart) -> None:
    assert netpart("data", "look", "job.conf", "-o", "out.svg", "--rows", 3).code == 0
    root = ElementTree.parse("out.svg").getroot()
    images = root.findall("{http://www.w3.org/2000/svg}image")
    assert len(images) == 3
    assert all(image.get("href", "").startswith("data:image/png;base64,") for image in images)
    assert len([text for text in root.itertext() if text[:2] in ("0:", "1:", "2:")]) == 3


def test_a_step_of_an_image_is_the_first_in_training_order(netpart: Netpart) -> None:
    """Rows have the order of the shuffle, not that of the folder."""
    shuffled = json.loads(netpart("data", "look", "job.conf", "--json", "--rows", 11).out)["inputs"][0]
    fixed = ("--set", "data.image_conf.shuffle=false")
    plain = json.loads(netpart("data", "look", "job.conf", "--json", "--rows", 11, *fixed).out)["inputs"][0]
    assert [row["label"] for row in plain["first"]] == sorted("00001111222")
    assert [row["label"] for row in shuffled["first"]] != [row["label"] for row in plain["first"]]
    assert sorted(row["label"] for row in shuffled["first"]) == sorted("00001111222")


def put_instead(path: Path, make: Callable[[Path], None]) -> None:
    """Replaces a file."""
    path.unlink()
    make(path)


BAD: dict[str, tuple[Callable[[Path], object], str]] = {
    "missing": (lambda path: path.unlink(), "got nothing there"),
    "empty": (lambda path: path.write_bytes(b""), "expected a PNG, JPEG or WebP image, got an empty file"),
    "truncated": (lambda path: path.write_bytes(path.read_bytes()[:-60]), "image file is truncated"),
    "foreign": (lambda path: path.write_bytes(b"GIF89a" * 9), "expected a PNG, JPEG or WebP image, got b'GIF89a"),
    "pipe": (lambda path: put_instead(path, os.mkfifo), "got a pipe"),
    "endless": (lambda path: put_instead(path, lambda p: p.symlink_to("/dev/zero")), "got a device"),
}


@pytest.mark.parametrize("name", BAD)
def test_data_that_cannot_be_read_is_one_message_with_its_place(name: str, netpart: Netpart) -> None:
    change, said = BAD[name]
    Path("list.csv").write_text("photos/a2/0.jpg,0\nphotos/a10/1.jpg,1\n")
    Path("job.conf").write_text(JOB.format(layer=LAYERS["images"].replace('"photos"', '"list.csv"')))
    change(Path("photos/a10/1.jpg"))
    answer = netpart("data", "look", "job.conf", "-o", "out.png")
    assert answer.code == 1
    assert answer.out == ""
    assert answer.err.startswith("error: job.conf:3:")
    assert "photos/a10/1.jpg: " in answer.err
    assert said in answer.err
    assert answer.err.count("\n") == 1
    assert not Path("out.png").exists()


def test_options_that_are_refused(netpart: Netpart) -> None:
    look = "data", "look", "job.conf"
    assert "expected a name that ends with .png, .svg, .html, got 'x.pdf'" in netpart(*look, "-o", "x.pdf").err
    assert "--phase: expected train, val or test, got 'dev'" in netpart(*look, "--phase", "dev").err
    assert "--rows: expected a whole number from 1" in netpart(*look, "--rows", 0).err
    Path("a.txt").touch()
    answer = netpart(*look, "-o", "a.txt/out.png")
    assert answer.code == 1
    assert answer.err.count("\n") == 1
    only_test = JOB.format(layer="include: kTest " + LAYERS["images"])
    Path("job.conf").write_text(only_test)
    answer = netpart(*look)
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert "expected at least one layer in phase train, got none" in answer.err
    assert netpart(*look, "--phase", "test").code == 0
