"""Input layers: the rows of a step depend on (step, global row) only, however they are cut."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from google.protobuf import text_format

from netpart.data.make.image_store import write_images
from netpart.data.stores.mean import write_mean
from netpart.errors import ConfigError, DataError
from netpart.kernels.op import Clock
from netpart.kernels.reference import Kernels
from netpart.layers import layer_class
from netpart.layers.layer import Layer
from netpart.layers.part import Call
from netpart.proto.job_pb2 import LayerProto
from netpart.spec import INT, RECORD, Region, Spec, extent
from netpart.testing.play_part import poisoned_array, run_poisoned
from tests.datasets.samples import datum_store, photos, scans
from tests.laws.cases import INPUTS, SYNTHETIC

COUNT = 11
SIDE = 4
BATCH = 6
IMAGES = np.random.default_rng(3).integers(0, 256, (COUNT, SIDE, SIDE), "uint8")
LABELS = np.arange(COUNT) % 5
STORE = f"batchsize: {BATCH} path:"
ALTERED = "flip: true shuffle: true drift: 0.5"
COLOURS = "brightness: 0.4 contrast: 0.3 saturation: 0.2"
CHANGED = f"batchsize: {BATCH} shape: [3, 12, 16] least_area: 0.5 mirror: true shuffle: true {COLOURS} mean: 0.5"
RGB = np.random.default_rng(5).integers(0, 256, (COUNT, 3, SIDE, SIDE), "uint8")
PARSERS = ("kMnist", "kLabel", "kRGBImage")
ORDER = "shuffle: true prefetching: true mean_value: 1.5 std_value: 2"
CONFS = {
    "kRecordInput": f'store_conf {{ backend: "kvfile" {STORE} "images.bin" }}',
    "kCSVInput": f'store_conf {{ backend: "textfile" {STORE} "images.csv" shape: {SIDE} shape: {SIDE} }}',
    "kSyntheticInput": f"store_conf {{ batchsize: {BATCH} shape: [{SIDE}, {SIDE}] }} synthetic_conf {{ classes: 5 }}",
    "kSyntheticMasks": f"store_conf {{ batchsize: {BATCH} shape: [2, 3, {SIDE}] }} synthetic_conf {{ classes: 3 }}",
    "kSyntheticTokens": f"store_conf {{ batchsize: {BATCH} shape: 9 }} synthetic_conf {{ classes: 20 }}",
    "kShardData": f'sharddata_conf {{ path: "images.bin" batchsize: {BATCH} }}',
    "kMnist": "mnist_conf { norm_a: 255 norm_b: 0.5 }",
    "kLabel": "",
    "kNiftiInput": f'nifti_conf {{ path: "nc-test.csv" batchsize: {BATCH} shape: [4, 5, 3] {ALTERED} cache_mib: 1 }}',
    "kImageInput": f'image_conf {{ path: "photos" {CHANGED} }}',
    "kTarInput": f'tar_conf {{ path: "photos-*.tar" label: "json" }} image_conf {{ {CHANGED} }}',
    "kRGBImage": "rgbimage_conf { cropsize: 3 mirror: true scale: 0.5 meanfile: 'rgb-mean.bin' }",
    "kArrayInput": f'array_conf {{ path: "images.npz" data: "x" label: "y" {ORDER} batchsize: {BATCH} }}',
    "kTokenInput": f'token_conf {{ files: "one.npy" files: "two.bin" window: 7 held_out: 0.2 batchsize: {BATCH} }}',
    "kLMDBData": f'lmdbdata_conf {{ path: "images.lmdb" batchsize: {BATCH} }}',
    "kTextInput": f'text_conf {{ files: "one.txt" files: "two.txt" window: 7 held_out: 0.2 batchsize: {BATCH} }}',
}
TEXT = np.random.default_rng(4).bytes(300)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data")
    write_images(path / "images.bin", IMAGES, LABELS)
    write_mean(path / "mean.bin", IMAGES.mean(axis=0))
    rows = [",".join(map(str, [label, *image.ravel()])) for image, label in zip(IMAGES, LABELS, strict=True)]
    (path / "images.csv").write_text("\n".join(rows) + "\n")
    scans(path, "nc")
    photos(path, COUNT)
    write_images(path / "rgb.bin", RGB, LABELS)
    write_mean(path / "rgb-mean.bin", RGB.mean(axis=0))
    (path / "one.txt").write_bytes(TEXT[:100])
    (path / "two.txt").write_bytes(TEXT[100:])
    np.savez(path / "images.npz", x=IMAGES, y=LABELS)
    np.save(path / "one.npy", np.arange(100, dtype=np.uint32) * 700)
    (path / "two.bin").write_bytes(np.arange(200, dtype="<u2").tobytes())
    datum_store(path / "images.lmdb", IMAGES[:, None], LABELS)
    return path


def make(name: str, folder: Path, conf: str | None = None, rows: int | None = None) -> tuple[Layer, Layer | None]:
    """The layer, and the kShardData it reads if it is a parser."""
    stored = CONFS["kShardData"].replace("images", "rgb") if name == "kRGBImage" else None
    shard = None if name not in PARSERS else make("kShardData", folder, stored, rows=rows)[0]
    proto = text_format.Parse(f'name: "it" type: {name} {CONFS[name] if conf is None else conf}', LayerProto())
    sources = () if shard is None else shard.outputs
    return layer_class(name)(proto, sources, rows=rows, folder=folder), shard


def read(layers: tuple[Layer, Layer | None], step: int, lo: int, hi: int, first: int = 0, **more: Any) -> list[Any]:
    """The outputs of the part with rows ``lo`` to ``hi`` of the micro-batch that starts at row ``first``."""
    layer, shard = layers
    clock, kernels = Clock(), Kernels(np, "float64")
    x: list[Any] = []
    if shard is not None:
        x = [[None]]
        source = Call((), shard.needs(()), None, [], [], x, rows=BATCH, clock=clock, first_row=first, **more)
        opened = shard.forward(kernels, source)
        clock.step = step
        run_poisoned(opened)
    region = ((lo, hi), *layer.output.whole[1:])
    y = [poisoned_array(extent(r), s.dtype) for r, s in zip(layer.outputs_of(region), layer.outputs, strict=True)]
    call = Call(region, layer.needs(region), None, x, [], y, rows=BATCH, first_row=first, clock=clock, **more)
    op = layer.forward(kernels, call)
    clock.step = step
    run_poisoned(op)
    return y


ROWS = [name for name in INPUTS if name != "kShardData"]


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("step", [0, 1, 7])
def test_parts_and_micro_batches_read_the_rows_of_the_whole(name: str, step: int, folder: Path) -> None:
    whole = read(make(name, folder), step, 0, BATCH)
    parts = [read(make(name, folder), step, lo, hi) for lo, hi in ((0, 1), (1, 4), (4, BATCH))]
    micro = [read(make(name, folder, rows=2), step, 0, 2, first=first) for first in (0, 2, 4)]
    for pieces in (parts, micro):
        for k, expected in enumerate(whole):
            assert np.array_equal(np.concatenate([piece[k] for piece in pieces]), expected)


@pytest.mark.parametrize("name", ["kRecordInput", "kCSVInput", "kLabel", "kMnist"])
def test_stores_are_read_in_file_order_and_wrap(name: str, folder: Path) -> None:
    rows = (2 * BATCH + np.arange(BATCH)) % COUNT
    expected = {"kLabel": LABELS[rows], "kMnist": IMAGES[rows] / np.float32(255) - 0.5}.get(name, IMAGES[rows])
    outputs = read(make(name, folder), 2, 0, BATCH)
    assert np.allclose(outputs[0], expected, atol=1e-6)
    assert len(outputs) == 1 or np.array_equal(outputs[1], LABELS[rows])


def test_a_record_input_subtracts_the_mean_and_divides(folder: Path) -> None:
    conf = CONFS["kRecordInput"].replace("}", 'mean_file: "mean.bin" std_value: 4 }')
    (data, _) = read(make("kRecordInput", folder, conf), 0, 0, BATCH)
    assert np.allclose(data, (IMAGES[:BATCH] - IMAGES.mean(axis=0).astype("float32")) / 4)


@pytest.mark.parametrize("more", ["shuffle: true", "random_skip: 1000"])
def test_order_is_drawn_once_per_seed(more: str, folder: Path) -> None:
    conf = CONFS["kRecordInput"].replace("}", f"{more} }}")
    read_with: Callable[[int], Any] = lambda seed: read(make("kRecordInput", folder, conf), 1, 0, BATCH, seed=seed)[1]  # noqa: E731
    drawn = [read_with(seed).tolist() for seed in range(8)]
    assert drawn == [read_with(seed).tolist() for seed in range(8)]
    assert len({tuple(labels) for labels in drawn}) > 1


def test_a_shuffled_epoch_has_every_record_once(folder: Path) -> None:
    conf = CONFS["kRecordInput"].replace("}", "shuffle: true }").replace(f"batchsize: {BATCH}", f"batchsize: {COUNT}")
    layer = make("kRecordInput", folder, conf)[0]
    y = [poisoned_array(s.shape, s.dtype) for s in layer.outputs]
    run_poisoned(
        layer.forward(Kernels(np, "float64"), Call(layer.output.whole, layer.needs(()), None, [], [], y, rows=COUNT))
    )
    assert sorted(y[1].tolist()) == sorted(LABELS.tolist())
    assert y[1].tolist() != LABELS.tolist()


@pytest.mark.parametrize("name", SYNTHETIC)
def test_synthetic_test_rows_differ_from_training_rows(name: str, folder: Path) -> None:
    train, test = (read(make(name, folder), 0, 0, BATCH, phase=phase)[0] for phase in (1, 4))
    assert not np.allclose(train, test)


def test_shapes_come_from_the_first_record_where_the_conf_has_none(folder: Path) -> None:
    conf = CONFS["kCSVInput"].replace(f"shape: {SIDE} shape: {SIDE}", "")
    assert make("kCSVInput", folder, conf)[0].output == Spec((BATCH, SIDE * SIDE))
    assert make("kRecordInput", folder)[0].outputs == (Spec((BATCH, SIDE, SIDE)), Spec((BATCH,), INT))
    assert make("kMnist", folder)[0].output == Spec((BATCH, SIDE, SIDE))
    assert make("kMnist", folder, "mnist_conf { resize: 7 }")[0].output == Spec((BATCH, 7, 7))
    shard = make("kShardData", folder)[0].output
    assert (shard.shape, shard.dtype, shard.rows) == ((), RECORD, BATCH)


def test_synthetic_rows_stand_in_for_a_store(folder: Path) -> None:
    conf = "store_conf { path: 'absent' batchsize: 2 shape: 3 }"
    layer = make("kSyntheticInput", folder, conf)[0]
    layer.check_data()
    assert layer.output == Spec((2, 3))


def test_repeated_batchsizes_are_rows_of_the_parts(folder: Path) -> None:
    layer: Any = make("kSyntheticInput", folder, "store_conf { batchsize: 2 batchsize: 5 shape: 3 }")[0]
    assert (layer.row_sizes(), layer.output.shape) == ((2, 5), (7, 3))


def test_a_text_may_be_cut_within_its_windows(folder: Path) -> None:
    layer = make("kTextInput", folder)[0]
    whole = read((layer, None), 3, 0, BATCH)
    for lo, hi in ((0, 2), (2, 7)):
        region = ((1, 4), (lo, hi))
        y = [poisoned_array(extent(r), INT) for r in layer.outputs_of(region)]
        run_poisoned(
            layer.forward(Kernels(np, "float64"), Call(region, layer.needs(region), None, [], [], y, clock=Clock(3)))
        )
        assert all(np.array_equal(part, full[1:4, lo:hi]) for part, full in zip(y, whole, strict=True))


@pytest.mark.parametrize("space", [((0, 2), (0, 5), (1, 2)), ((2, 4), (1, 4), (0, 3))])
def test_scans_may_be_cut_in_space(space: Region, folder: Path) -> None:
    layer = make("kNiftiInput", folder)[0]
    whole, _ = read((layer, None), 3, 0, BATCH)
    region = (1, 4), (0, 1), *space
    y = [poisoned_array(extent(r), s.dtype) for r, s in zip(layer.outputs_of(region), layer.outputs, strict=True)]
    call = Call(region, layer.needs(region), None, [], [], y, rows=BATCH, clock=Clock(3))
    run_poisoned(layer.forward(Kernels(np, "float64"), call))
    assert np.allclose(y[0], whole[tuple(slice(*ends) for ends in region)], atol=1e-6)


def test_scans_are_mirrored_in_training_only(folder: Path) -> None:
    layers = make("kNiftiInput", folder, CONFS["kNiftiInput"].replace(ALTERED, "flip: true"))
    plain = read(layers, 0, 0, BATCH, phase=4)[0]
    turned = [read(layers, step, 0, BATCH)[0] for step in range(4)]
    as_is = {bool(np.array_equal(a, b)) for data in turned for a, b in zip(data, plain, strict=True)}
    assert as_is == {True, False}
    for data in turned:
        assert all(np.array_equal(a, b) or np.array_equal(a[:, ::-1], b) for a, b in zip(data, plain, strict=True))


def test_scans_drift_in_training_only(folder: Path) -> None:
    plain = CONFS["kNiftiInput"].replace(ALTERED, "")
    still = read(make("kNiftiInput", folder, plain), 0, 0, BATCH)[0]
    layers = make("kNiftiInput", folder, CONFS["kNiftiInput"].replace(ALTERED, "drift: 0.5"))
    assert np.array_equal(read(layers, 0, 0, BATCH, phase=4)[0], still)
    added = [(read(layers, step, 0, BATCH)[0] - still)[still != 0] for step in range(2)]
    assert 0.01 < abs(added[0]).max() <= 0.5
    assert not np.allclose(*added)


@pytest.mark.parametrize(("phase", "lo", "hi"), [(1, 0, 240), (2, 240, 270), (4, 270, 300)])
def test_each_phase_reads_its_own_span_of_a_text(phase: int, lo: int, hi: int, folder: Path) -> None:
    layers, starts = make("kTextInput", folder), set[int]()
    for step in range(60):
        data, label = read(layers, step, 0, BATCH, phase=phase)
        assert np.array_equal(data[:, 1:], label[:, :-1])
        starts |= {
            TEXT.index(bytes(row + after)) for row, after in zip(data.tolist(), label[:, -1:].tolist(), strict=True)
        }
    assert min(starts) >= lo
    assert max(starts) + 8 <= hi
    assert len(starts) > 0.7 * (hi - lo - 7)


def test_windows_of_a_text_are_drawn_anew_per_seed_and_name(folder: Path) -> None:
    first = [read(make("kTextInput", folder), 0, 0, BATCH, seed=seed)[0].tolist() for seed in (1, 1, 2)]
    assert first[0] == first[1] != first[2]


def test_a_text_too_short_for_its_window_is_found_by_check_data(folder: Path) -> None:
    conf = CONFS["kTextInput"].replace("window: 7", "window: 250")
    with pytest.raises(DataError, match="2 files: expected 251 bytes or more for training, got 240 of 300"):
        make("kTextInput", folder, conf)[0].check_data()
    layer = make("kTextInput", folder, CONFS["kTextInput"].replace("window: 7", "window: 30"))[0]
    layer.check_data()
    with pytest.raises(DataError, match="expected 31 bytes or more for testing, got 30 of 300"):
        layer.check_data(4)


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


@pytest.mark.parametrize("name", ["kRecordInput", "kCSVInput", "kShardData"])
def test_data_that_is_not_there_is_found_by_check_data(name: str, folder: Path) -> None:
    conf = CONFS[name].replace("images", "absent")
    conf = conf if "shape" in conf or "shard" in conf else conf.replace("}", f"shape: {SIDE} shape: {SIDE} }}")
    make(name, folder)[0].check_data()
    layer = make(name, folder, conf)[0]
    with pytest.raises(DataError, match="absent"):
        layer.check_data()


def test_truncated_and_misshapen_stores_are_found_by_check_data(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "images.bin").write_bytes((folder / "images.bin").read_bytes()[:-3])
    shaped = CONFS["kRecordInput"].replace("}", f"shape: {SIDE} shape: {SIDE} }}")
    with pytest.raises(DataError, match="expected a value of"):
        make("kRecordInput", tmp_path, shaped)[0].check_data()
    with pytest.raises(DataError, match="expected 15 elements"):
        make("kRecordInput", folder, CONFS["kRecordInput"].replace("}", "shape: 15 }"))[0].check_data()


REFUSED = {
    "kRecordInput": ["", "store_conf { path: 'images.bin' }", f"store_conf {{ batchsize: {BATCH} }}",
                     f"store_conf {{ {STORE} 'images.bin' encoded: true }}", "store_conf { batchsize: 0 path: 'a' }"],
    "kSyntheticMasks": ["", "store_conf { batchsize: 4 shape: 3 }"],
    "kSyntheticTokens": ["", "store_conf { batchsize: 4 shape: [3, 3] }"],
    "kSyntheticInput": ["", "store_conf { batchsize: 4 }", "store_conf { batchsize: 4 shape: 0 }",
                        "store_conf { batchsize: 4 shape: 3 } synthetic_conf { classes: 0 }",
                        "store_conf { batchsize: 4 shape: 3 } synthetic_conf { noise: -1 }"],
    "kShardData": ["", "sharddata_conf { path: '' batchsize: 4 }", "sharddata_conf { path: 'a' batchsize: 0 }"],
    "kTextInput": ["", "text_conf { batchsize: 4 }", "text_conf { files: 'a' }",
                   "text_conf { files: 'a' batchsize: 4 window: 0 }",
                   "text_conf { files: 'a' batchsize: 4 held_out: 1 }"],
    "kNiftiInput": ["", "nifti_conf { batchsize: 4 shape: [2, 0, 2] }", "nifti_conf { path: 'a' shape: [2, 2, 2] }",
                    "nifti_conf { path: 'nc-test.csv' batchsize: 4 shape: [2, 2] }",
                    "nifti_conf { path: 'nc-test.csv' batchsize: 4 shape: [2, 2, 2] cache_mib: -1 }",
                    "nifti_conf { path: 'nc-test.csv' batchsize: 4 shape: [2, 2, 2] drift: -1 }"],
    "kImageInput": ["", "image_conf { path: 'photos' }", "image_conf { batchsize: 4 shape: [3, 8, 8] }",
                    *(f"image_conf {{ path: 'photos' batchsize: 4 shape: [3, 8, 9] {wrong} }}" for wrong in (
                        "resize: 8", "resize: -1", "least_area: 0", "least_area: 1.5", "brightness: 2",
                        "contrast: -1", "saturation: 1.1", "mean: 1 mean: 2", "std: 0", "std: [1, 1, -1]")),
                    *(f"image_conf {{ path: 'photos' batchsize: 4 shape: {wrong} }}" for wrong in (
                        "[2, 8, 8]", "[8, 8]", "[3, 0, 8]", "[3, 100000, 100000]"))],
    "kTarInput": ["", "tar_conf { path: 'photos-0.tar' }", "image_conf { batchsize: 4 }",
                  "tar_conf { path: 'photos-0.tar' label: '' } image_conf { batchsize: 4 }",
                  *(f"tar_conf {{ path: 'photos-0.tar' }} image_conf {{ batchsize: 4 {wrong} }}" for wrong in (
                      "path: 'a'", "masks: 'a'", "classes: 'a'"))],
    "kRGBImage": ["rgbimage_conf { cropsize: 5 }", "rgbimage_conf { cropsize: -1 }"],
    "kMnist": ["mnist_conf { norm_a: 0 }", "mnist_conf { resize: -1 }"],
}  # fmt: skip


@pytest.mark.parametrize(("name", "conf"), [(name, conf) for name, confs in REFUSED.items() for conf in confs])
def test_a_wrong_conf_names_the_layer(name: str, conf: str, folder: Path) -> None:
    with pytest.raises(ConfigError, match=r"^it: expected"):
        make(name, folder, conf)


def test_a_parser_reads_records_only() -> None:
    proto = text_format.Parse('name: "it" type: kMnist', LayerProto())
    with pytest.raises(ConfigError, match="records"):
        layer_class("kMnist")(proto, (Spec((3, 4)),))
