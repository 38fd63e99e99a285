"""Inputs of images: the same bits for any cut, changes in training alone, masks and labels of one shape."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from netpart.errors import DataError
from netpart.kernels.op import Clock
from netpart.kernels.reference import Kernels
from netpart.layers.part import Call
from netpart.spec import INT, Spec, extent
from netpart.testing.play_part import poisoned_array, run_poisoned
from tests.layers.input_layers import BATCH, COLOURS, CONFS, RGB, make, read

IMAGES_CONF = f"batchsize: {BATCH} shape: [3, 12, 16] least_area: 0.5 mirror: true shuffle: true {COLOURS}"
IMAGE_SETS = {
    "classes": ("kImageInput", f'image_conf {{ path: "photos" {IMAGES_CONF} }}'),
    "several labels": ("kImageInput", f'image_conf {{ path: "two.csv" {IMAGES_CONF} }}'),
    "masks": ("kImageInput", f'image_conf {{ path: "photos" masks: "masks" {IMAGES_CONF} }}'),
    "a list of masks": ("kImageInput", f'image_conf {{ path: "masks.csv" {IMAGES_CONF} }}'),
    "tar files": ("kTarInput", f'tar_conf {{ path: "photos-*.tar" }} image_conf {{ {IMAGES_CONF} }}'),
    "masks in tar files": (
        "kTarInput", f'tar_conf {{ path: "photos-*.tar" mask: "seg.png" }} image_conf {{ {IMAGES_CONF} }}'
    ),
}  # fmt: skip


@pytest.mark.parametrize("given", IMAGE_SETS)
def test_images_are_the_same_bits_for_any_number_of_workers_and_after_a_resume(given: str, folder: Path) -> None:
    name, conf = IMAGE_SETS[given]
    layer = make(name, folder, conf)[0]
    straight = [read((layer, None), step, 0, BATCH) for step in range(4)]
    for workers in (1, 2, 5):
        ends = [BATCH * k // workers for k in range(workers + 1)]
        parts = [make(name, folder, conf) for _ in range(workers)]
        for step in (2, 3):  # as after a resume: these readers did not see steps 0 and 1
            found = [read(part, step, *pair) for part, pair in zip(parts, pairwise(ends), strict=True)]
            for k, expected in enumerate(straight[step]):
                assert np.array_equal(np.concatenate([each[k] for each in found]), expected)
    assert not np.array_equal(straight[0][0], straight[1][0])


@pytest.mark.parametrize("given", IMAGE_SETS)
def test_images_may_be_cut_in_space(given: str, folder: Path) -> None:
    name, conf = IMAGE_SETS[given]
    layer = make(name, folder, conf)[0]
    whole, labels = read((layer, None), 1, 0, BATCH)
    region = (2, 5), (0, 3), (5, 12), (0, 9)
    y = [poisoned_array(extent(r), s.dtype) for r, s in zip(layer.outputs_of(region), layer.outputs, strict=True)]
    run_poisoned(
        layer.forward(
            Kernels(np, "float64"), Call(region, layer.needs(region), None, [], [], y, rows=BATCH, clock=Clock(1))
        )
    )
    assert np.array_equal(y[0], whole[2:5, :, 5:12, :9])
    assert np.array_equal(y[1], labels[2:5])


def test_labels_have_the_shape_of_the_data(folder: Path) -> None:
    shapes = {given: make(*each[:1], folder, each[1])[0].outputs[1] for given, each in IMAGE_SETS.items()}
    masks = Spec((BATCH, 12 * 16), INT)
    assert shapes == {
        "classes": Spec((BATCH,), INT), "several labels": Spec((BATCH, 2), INT), "tar files": Spec((BATCH,), INT),
        "masks": masks, "a list of masks": masks, "masks in tar files": masks,
    }  # fmt: skip


def test_images_change_in_training_only(folder: Path) -> None:
    layers = make("kImageInput", folder, IMAGE_SETS["classes"][1].replace("shuffle: true", ""))
    tested = [read(layers, step, 0, BATCH, phase=4)[0] for step in (0, 11)]
    assert np.array_equal(*tested)
    trained = [read(layers, step, 0, BATCH)[0] for step in (0, 11)]
    assert not any(np.array_equal(a, b) for a, b in zip(trained[0], trained[1], strict=True))
    names = [
        read(make("kImageInput", folder, IMAGE_SETS["classes"][1]), 0, 0, BATCH, seed=seed)[0] for seed in (1, 1, 2)
    ]
    assert np.array_equal(names[0], names[1])
    assert not np.array_equal(names[0], names[2])


def test_images_without_a_shape_have_that_of_the_first(folder: Path) -> None:
    layer = make("kImageInput", folder, 'image_conf { path: "photos" batchsize: 2 }')[0]
    assert layer.output == Spec((2, 3, 30, 40))


def test_images_that_cannot_be_used_are_found_by_check_data(folder: Path, tmp_path: Path) -> None:
    for name, conf in IMAGE_SETS.values():
        make(name, folder, conf)[0].check_data()
        layer = make(name, tmp_path, conf)[0]
        with pytest.raises(DataError, match="nothing there"):
            layer.check_data()
    layer = make("kImageInput", folder, IMAGE_SETS["several labels"][1])[0]
    layer.check_labels(5)
    with pytest.raises(DataError, match=r"two.csv:5: .*expected a class from 0 to 3, got 4"):
        layer.check_labels(4)
    layer.check_labels(4, 4)


def test_rgb_images_are_cropped_mirrored_and_scaled(folder: Path) -> None:
    conf = CONFS["kRGBImage"]
    (tested,) = read(make("kRGBImage", folder), 0, 0, BATCH, phase=4)
    centred = RGB[:BATCH] - RGB.mean(axis=0).astype("float32")
    assert np.allclose(tested, 0.5 * centred[:, :, :3, :3])
    (trained,) = read(make("kRGBImage", folder), 0, 0, BATCH)
    squares = [
        0.5 * centred[row][:, y : y + 3, x : x + 3][..., ::turn]
        for row in range(BATCH) for y in (0, 1) for x in (0, 1) for turn in (1, -1)
    ]  # fmt: skip
    found = [[k for k, square in enumerate(squares) if np.allclose(image, square)] for image in trained]
    assert [places[0] // 8 for places in found] == list(range(BATCH))
    assert len({places[0] % 8 for places in found}) > 1
    whole = read(make("kRGBImage", folder, conf.replace("cropsize: 3 mirror: true", "")), 0, 0, BATCH)[0]
    assert np.allclose(whole, 0.5 * centred)
