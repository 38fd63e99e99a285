"""What would end a run at some step is found before it: NaN, words for numbers, labels of masks, missing files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from netpart.errors import DataError
from netpart.graph.partition import Partition, partition_job
from netpart.graph.ready import find_run_faults
from netpart.launch.run import run_job
from netpart.proto.reader import read_job_text

HEAD = """
name: "checked" train_steps: 4 train_one_batch { alg: kBP } seed: 1
updater { type: kSGD learning_rate { type: kFixed base_lr: 0.1 } }
neuralnet {
"""
DENSE = """
  layer { name: "ip" type: kInnerProduct srclayers: "data" innerproduct_conf { num_output: OUT }
    param { init { type: kUniform } } param { init { type: kConstant } } }
  layer { name: "loss" type: LOSS srclayers: "ip" srclayers: "data" }
}
"""
MASKS = f"""{HEAD}
  layer {{ name: "data" type: kImageInput
    image_conf {{ path: "PATH/photos" masks: "PATH/masks" batchsize: 5 shape: [1, 4, 4] prefetching: false }} }}
  layer {{ name: "conv" type: kConvolution srclayers: "data" convolution_conf {{ num_filters: 3 kernel: 3 pad: 1 }}
    param {{ init {{ type: kUniform }} }} param {{ init {{ type: kConstant }} }} }}
  layer {{ name: "flat" type: kReshape srclayers: "conv" reshape_conf {{ shape: [3, 16] }} }}
  layer {{ name: "scores" type: kTranspose srclayers: "flat" transpose_conf {{ axis: [2, 1] }} }}
  layer {{ name: "loss" type: kSoftmaxLoss srclayers: "scores" srclayers: "data" softmaxloss_conf {{ IGNORED }} }}
}}
"""
TABLE = f"""{HEAD}
  layer {{ name: "data" type: kCSVInput store_conf {{ path: "PATH/t.csv" header: true label_column: "kind"
    classes_file: "PATH/kinds.txt" batchsize: 2 }} }}
""" + DENSE.replace("OUT", "2").replace("LOSS", "kSoftmaxLoss")
ARRAYS = f"""{HEAD}
  layer {{ name: "data" type: kArrayInput array_conf {{ path: "PATH/x.npy" label_path: "PATH/y.npy" target: true
    batchsize: 2 }} }}
""" + DENSE.replace("OUT", "1").replace("LOSS", "kEuclideanLoss")


def cut(text: str, folder: Path) -> Partition:
    return partition_job(read_job_text(text.replace("PATH", str(folder))).proto, 1)


def only_fault(text: str, folder: Path) -> str:
    (error,) = find_run_faults(cut(text, folder))
    assert isinstance(error, DataError)
    assert (error.at or ())[:3] == ("neuralnet", "layer", 0)
    return str(error)


def photos(folder: Path, count: int = 10) -> None:
    for name in ("photos", "masks"):
        (folder / name).mkdir()
    for k in range(count):
        Image.fromarray(np.full((4, 4), k, np.uint8)).save(folder / "photos" / f"{k}.png")
        Image.fromarray(np.full((4, 4), k % 3, np.uint8)).save(folder / "masks" / f"{k}.png")


def spoil_mask(folder: Path, k: int) -> None:
    mask = np.zeros((4, 4), np.uint8)
    mask[1, 2] = 255
    Image.fromarray(mask).save(folder / "masks" / f"{k}.png")


def test_a_value_of_a_mask_that_is_no_class_names_the_mask(tmp_path: Path) -> None:
    photos(tmp_path)
    spoil_mask(tmp_path, 7)
    found = only_fault(MASKS.replace("IGNORED", ""), tmp_path)
    assert "masks/7.png: expected classes from 0 to 2, got 255; write ignore_index: 255 in softmaxloss_conf" in found
    assert find_run_faults(cut(MASKS.replace("IGNORED", "ignore_index: 255"), tmp_path)) == []


@pytest.mark.parametrize("workers", [1, 2])
def test_a_run_names_the_mask_and_the_place_in_the_job(
    workers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    photos(tmp_path)
    spoil_mask(tmp_path, 7)
    monkeypatch.setattr("netpart.data.images.image_files.MASKS", 2)  # the first and the last
    job = read_job_text(MASKS.replace("IGNORED", "").replace("PATH", str(tmp_path)), "seg.conf")
    said = r"train step 1, forward data.*: .*masks/7\.png: expected classes .* got 255"
    with pytest.raises(DataError, match=said) as raised:
        run_job(job, workers, launcher="threads", workspace=tmp_path / "run")
    assert re.match(r"seg\.conf:7:\d+: worker \d: train step 1", str(job.explain(raised.value)))


@pytest.mark.parametrize(
    ("folder", "what"), [("photos", "a PNG, JPEG or WebP image, got an empty file"), ("masks", "")]
)
def test_missing_and_empty_files_are_found(folder: str, what: str, tmp_path: Path) -> None:
    photos(tmp_path)
    file = tmp_path / folder / "6.png"
    if what:
        file.write_bytes(b"")
    else:
        file.unlink()
    found = only_fault(MASKS.replace("IGNORED", ""), tmp_path)
    assert f"{file}: expected {what or 'an image, got nothing there'}; co" in found


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("1,nan,cat", "column 2: expected a finite float32, got 'nan'"),
        ("1,tall,cat", "column 2: expected a number, got 'tall'"),
        ("1,,cat", "column 2: expected a number, got ''; fill it"),
        ("1,2,owl", "column 3: expected one of the 2 words of the classes_file, got 'owl'"),
        ("1,cat", "expected a label and 2 values"),
    ],
)
def test_each_line_of_a_table_is_read(line: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "kinds.txt").write_text("cat\ndog\n")
    (tmp_path / "t.csv").write_text("a,b,kind\n" + "1,2,cat\n3,4,dog\n" * 20 + line + "\n")
    assert f"data: {tmp_path}/t.csv:42: {said}" in only_fault(TABLE, tmp_path)


@pytest.mark.parametrize(("name", "value"), [("x", np.nan), ("x", -np.inf), ("y", np.nan)])
def test_each_number_of_an_array_is_read(name: str, value: float, tmp_path: Path) -> None:
    arrays: dict[str, Any] = {"x": np.zeros((50, 3), np.float32), "y": np.zeros((50, 1))}
    arrays[name][41, 0] = value
    for key, array in arrays.items():
        np.save(tmp_path / f"{key}.npy", array)
    assert f"{tmp_path}/{name}.npy: row 41, element [0]: expected a finite float" in only_fault(ARRAYS, tmp_path)
