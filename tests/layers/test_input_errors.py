"""Inputs whose data or whose conf cannot be used name the layer and the next step."""

from __future__ import annotations

from pathlib import Path

import pytest
from google.protobuf import text_format

from netpart.errors import ConfigError, DataError
from netpart.layers import layer_class
from netpart.proto.job_pb2 import LayerProto
from netpart.spec import Spec
from tests.layers.input_layers import BATCH, CONFS, SIDE, STORE, make


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
