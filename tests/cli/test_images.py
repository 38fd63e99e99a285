"""Images from the command line: a store is made of them, nets train on them, and bad ones are named."""

from __future__ import annotations

import os
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from netpart.data.stores.record import decode_record
from netpart.data.stores.store import open_store
from tests.cli.conftest import Netpart
from tests.datasets.images.test_encoded_image import bomb
from tests.datasets.samples import encoded, photo, photos

COLOURS = "brightness: 0.3 contrast: 0.2 saturation: 0.4"
JOB = f"""name: "images" train_steps: 6 checkpoint_freq: 3 dtype: FLOAT64
train_one_batch {{ alg: kBP }}
updater {{ type: kSGD learning_rate {{ type: kFixed base_lr: 0.1 }} }}
cluster {{ workspace: "ws" }}
neuralnet {{
  layer {{ name: "data" type: kImageInput partition_dim: 0 image_conf {{
    path: "photos" batchsize: 10 shape: [3, 12, 16] least_area: 0.4 mirror: true shuffle: true {COLOURS} }} }}
  layer {{ name: "ip" type: kInnerProduct srclayers: "data" partition_dim: 0 innerproduct_conf {{ num_output: 3 }}
    param {{ name: "w" init {{ type: kUniform low: -0.1 high: 0.1 }} }}
    param {{ name: "b" init {{ type: kConstant }} }} }}
  layer {{ name: "loss" type: kSoftmaxLoss srclayers: "ip" srclayers: "data" partition_dim: 0 }}
}}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.conf").write_text(JOB)
    return photos(tmp_path)


def trained(netpart: Netpart, workspace: str, *more: Any) -> dict[str, Any]:
    """The parameters at the end of a run, in threads."""
    answer = netpart("run", "job.conf", "--launcher", "threads", "--workspace", workspace, *more)
    assert answer.code == 0, answer.err
    (found,) = Path(workspace).glob("checkpoint/*00006.safetensors")
    return dict(load_file(found))


def test_a_run_computes_the_same_with_any_number_of_workers_and_after_a_resume(folder: Path, netpart: Netpart) -> None:
    one = trained(netpart, "one", "--workers", 1)
    assert netpart("run", "job.conf", "--launcher", "threads", "--workspace", "two", "--steps", 3).code == 0
    resumed = trained(netpart, "two", "--workers", 1, "--resume")
    assert {name: value.tobytes() for name, value in resumed.items()} == {k: v.tobytes() for k, v in one.items()}
    for workers in (2, 5):
        several = trained(netpart, f"w{workers}", "--workers", workers, "--micro-batches", 1)
        assert all(np.allclose(several[name], one[name], rtol=1e-12, atol=1e-14) for name in one)
    micro = trained(netpart, "micro", "--workers", 1, "--micro-batches", 2)
    assert all(np.allclose(micro[name], one[name], rtol=1e-12, atol=1e-14) for name in one)


def test_the_summary_has_the_names_of_the_classes(folder: Path, netpart: Netpart) -> None:
    trained(netpart, "one", "--workers", 2, "--summary", "summary.json")
    assert '"classes": {"data": ["a2", "a10", "b"]}' in " ".join(Path("summary.json").read_text().split()).replace(
        "[ ", "["
    ).replace(" ]", "]").replace("{ ", "{").replace(" }", "}")


HEAD, TAIL = JOB.index('  layer { name: "data"'), JOB.rindex("}")
FILLED = "param { init { type: kUniform } } param { init { type: kConstant } }"
SEGMENTS = f"""layer {{ name: "data" type: kImageInput image_conf {{
    path: "photos" masks: "masks" batchsize: 5 shape: [3, 8, 8] mirror: true }} }}
  layer {{ name: "places" type: kConvolution srclayers: "data" partition_dim: 2
    convolution_conf {{ num_filters: 4 kernel: 1 }} {FILLED} }}
  layer {{ name: "flat" type: kReshape srclayers: "places" reshape_conf {{ shape: [4, 64] }} }}
  layer {{ name: "last" type: kTranspose srclayers: "flat" transpose_conf {{ axis: [2, 1] }} }}
"""
SEVERAL = f"""layer {{ name: "data" type: kImageInput image_conf {{
    path: "two.csv" batchsize: 5 shape: [3, 8, 8] mirror: true }} }}
  layer {{ name: "ip" type: kInnerProduct srclayers: "data" innerproduct_conf {{ num_output: 10 }} {FILLED} }}
  layer {{ name: "last" type: kReshape srclayers: "ip" partition_dim: 0 reshape_conf {{ shape: [2, 5] }} }}
"""


@pytest.mark.parametrize("layers", [SEGMENTS, SEVERAL], ids=["masks", "several labels"])
def test_nets_train_on_masks_and_on_several_labels(layers: str, folder: Path, netpart: Netpart) -> None:
    loss = 'layer { name: "loss" type: kSoftmaxLoss srclayers: "last" srclayers: "data" }'
    Path("job.conf").write_text(f"{JOB[:HEAD]}{layers}{loss}{JOB[TAIL:]}")
    one, two = (trained(netpart, f"w{workers}", "--workers", workers) for workers in (1, 2))
    assert all(np.allclose(two[name], one[name], rtol=1e-12, atol=1e-14) for name in one)


def damage(path: str, content: bytes) -> Callable[[], object]:
    return lambda: Path(path).write_bytes(content)


def replace(path: str, make: Callable[[str], object]) -> Callable[[], object]:
    def change() -> None:
        Path(path).unlink()
        make(path)

    return change


FIRST = "photos/a2/0.jpg"
BAD: dict[str, tuple[Callable[[], object], str]] = {
    "truncated": (damage(FIRST, encoded(photo(0), "jpg")[:-60]), "image file is truncated"),
    "foreign": (damage(FIRST, b"GIF89a" + bytes(50)), "expected a PNG, JPEG or WebP image, got b'GIF89a"),
    "empty": (damage(FIRST, b""), "expected a PNG, JPEG or WebP image, got an empty file"),
    "a bomb": (damage(FIRST, bomb(50000, 50000)), "expected 1 to 67108864 pixels, got 2500000000; scale it down"),
    "a pipe": (replace(FIRST, os.mkfifo), "expected an image, got a pipe; save what it brings in a file"),
    "endless": (replace(FIRST, lambda path: os.symlink("/dev/zero", path)), "expected an image, got a device"),
    "gone": (replace(FIRST, lambda path: os.symlink("absent", path)), "expected an image, got nothing there"),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_image_is_one_message_with_its_path(kind: str, folder: Path, netpart: Netpart) -> None:
    make, said = BAD[kind]
    make()
    answer = netpart(
        "run", "job.conf", "--launcher", "threads", "--workers", 2, "--set", "data.image_conf.shuffle=false"
    )
    assert answer.code == 1
    assert "photos/a2/0.jpg: " in answer.err
    assert said in answer.err
    assert "Traceback" not in answer.err
    assert "itself failed" not in answer.err


def test_an_image_that_is_damaged_later_ends_the_run_with_its_path(folder: Path, netpart: Netpart) -> None:
    Path("photos/b/8.webp").write_bytes(encoded(photo(0), "webp")[:-60])
    answer = netpart("run", "job.conf", "--launcher", "threads", "--workers", 2)
    assert answer.code == 1
    assert "photos/b/8.webp: expected " in answer.err
    assert "Traceback" not in answer.err


def test_too_few_outputs_for_the_classes_are_found_before_the_run(folder: Path, netpart: Netpart) -> None:
    answer = netpart("check", "job.conf", "--set", "ip.innerproduct_conf.num_output=2")
    assert (
        "expected a class from 0 to 1, got 2; correct it, or give the layer below the loss" in answer.err + answer.out
    )


def test_a_store_is_made_of_images(folder: Path, netpart: Netpart) -> None:
    answer = netpart("data", "images", "photos", "out/photos.bin", "--size", "12x16")
    assert answer.out == "out/photos.bin: made 11 images of shape 3x12x16; classes from 0: a2, a10, b\n"
    with open_store("kvfile", Path("out/photos.bin")) as store:
        records = [decode_record(store.value(k)) for k in range(len(store))]
    assert [record.label for record in records] == [0] * 4 + [1] * 4 + [2] * 3
    assert {record.shape for record in records} == {(3, 12, 16)}
    middle = records[1].values.reshape(3, 12, 16)  # a2/3.png, 33 x 40 pixels
    assert abs(middle.astype(int)[:, 6, 8] - photo(3, 33, 40)[16:18, 20:22].mean((0, 1))).max() < 8


def test_a_tar_file_is_made_of_images_and_trains_the_same(folder: Path, netpart: Netpart) -> None:
    assert netpart("data", "images", "photos", "a.tar", "--size", "12x16").code == 0
    assert netpart("data", "images", "photos", "b.tar", "--size", "12x16").code == 0
    assert Path("a.tar").read_bytes() == Path("b.tar").read_bytes()
    with tarfile.open("a.tar") as tar:
        assert tar.getnames()[:3] == ["00000000.png", "00000000.cls", "00000001.png"]
    assert netpart("data", "images", "photos", "photos.bin", "--size", "12x16").code == 0
    plain = JOB.replace("least_area: 0.4 mirror: true shuffle: true " + COLOURS, "shuffle: true")
    stored = (
        "kRecordInput partition_dim: 0 store_conf { path: 'photos.bin' batchsize: 10 std_value: 255 shuffle: true } } #"
    )
    tarred = plain.replace('path: "photos" ', "").replace("kImageInput", 'kTarInput tar_conf { path: "a.tar" }')
    Path("job.conf").write_text(tarred)
    from_tar = trained(netpart, "tar", "--workers", 2)
    begin, end = plain.index("kImageInput"), plain.index('  layer { name: "ip"')
    Path("job.conf").write_text(f"{plain[:begin]}{stored}\n{plain[end:]}")
    from_store = trained(netpart, "store", "--workers", 2)
    assert all(np.allclose(from_tar[name], from_store[name], rtol=1e-9) for name in from_tar)


def test_images_without_one_label_make_no_store(folder: Path, netpart: Netpart) -> None:
    answer = netpart("data", "images", "two.csv", "a.bin")
    assert answer.code == 1
    assert answer.err == (
        "error: two.csv: expected one label per image, got masks or several labels; use type: kImageInput for others\n"
    )
    Path(FIRST).write_bytes(b"")
    assert netpart("data", "images", "photos", "a.bin").code == 1
    assert not Path("a.bin").exists()
    assert netpart("data", "images", "photos", "a.bin", "--size", "0").code == 2
