"""Targets, the numbers that a regression predicts: read from CSV files and arrays, and given to losses."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from google.protobuf import text_format

from netpart.errors import ConfigError, DataError, MissingData, NetpartError
from netpart.graph.build import build_net
from netpart.layers import layer_class
from netpart.layers.inputs.rows import RowInput
from netpart.proto.job_pb2 import LayerProto
from netpart.proto.reader import read_job_text
from netpart.spec import INT, Spec

X = np.random.default_rng(1).normal(size=(7, 3))
Y = np.random.default_rng(2).normal(size=(7, 2)) * 1e3
ONE = f"target: true batchsize: {len(X)}"
ARRAY = f'path: "x.npy" label_path: "y.npy" {ONE}'
CSV = f'path: "t.csv" header: true label_column: "price" label_column: "size" {ONE}'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", Y)
    np.save(tmp_path / "one.npy", Y[:, 0])
    write_table(tmp_path / "t.csv", Y)
    return tmp_path


def write_table(path: Path, targets: Any) -> None:
    """The rows with their targets."""
    lines = ["a,price,b,c,size", *(f"{x[0]},{y[0]},{x[1]},{x[2]},{y[1]}" for x, y in zip(X, targets, strict=True))]
    path.write_text("\n".join(lines) + "\n")


def layer(folder: Path, conf: str) -> RowInput:
    """An input layer: of a CSV file or of arrays, by its path."""
    kind, field = ("kCSVInput", "store_conf") if ".csv" in conf else ("kArrayInput", "array_conf")
    proto = text_format.Parse(f'name: "it" type: {kind} {field} {{ {conf} }}', LayerProto())
    made = layer_class(kind)(proto, (), folder=folder)
    assert isinstance(made, RowInput)
    return made


def first_rows(made: RowInput, dtype: Any = np.float64) -> tuple[Any, Any]:
    """Data and targets of step 0."""
    data, target = (np.full(spec.shape, np.nan, dtype) for spec in made.outputs)
    made.open(len(X), 1, 1, dtype).read(0, 0, len(X), data, target)
    return data, target


@pytest.mark.parametrize("conf", [ARRAY, CSV])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_targets_are_numbers_of_the_compute_dtype(conf: str, dtype: Any, folder: Path) -> None:
    made = layer(folder, conf)
    assert made.outputs == (Spec((7, 3)), Spec((7, 2)))
    assert made.output_names == ("data", "target")
    data, target = first_rows(made, dtype)
    assert np.array_equal(data, X.astype(dtype))
    assert np.array_equal(target, Y.astype(dtype))


def test_one_target_is_one_on_an_axis(folder: Path) -> None:
    """As an inner product with one output has it."""
    made = layer(folder, ARRAY.replace("y.npy", "one.npy"))
    assert made.outputs[1] == Spec((7, 1))
    assert np.array_equal(first_rows(made)[1], Y[:, :1])
    made = layer(folder, CSV.replace('label_column: "size"', 'skip_column: "size"'))
    assert made.outputs[1] == Spec((7, 1))
    assert np.array_equal(first_rows(made)[1], Y[:, :1])
    made = layer(folder, f'path: "t.csv" header: true {ONE}')
    assert np.array_equal(first_rows(made)[1], X[:, :1])


@pytest.mark.parametrize("shape", [(7, 4), (7, 2, 2)])
@pytest.mark.parametrize("kind", ["int16", "bool", "float16", "uint8"])
def test_targets_of_any_numbers_and_axes(shape: tuple[int, ...], kind: str, folder: Path) -> None:
    y = np.arange(28).reshape(shape).astype(kind)
    np.save(folder / "y.npy", y)
    made = layer(folder, ARRAY)
    assert made.outputs[1] == Spec((7, 4))
    assert np.array_equal(first_rows(made)[1], y.reshape(7, 4).astype(float))


def test_a_shape_needs_no_file_until_rows_are_read(folder: Path) -> None:
    made = layer(folder, ARRAY.replace("y.npy", "gone.npy") + " shape: 3 labels: 2")
    assert made.outputs == (Spec((7, 3)), Spec((7, 2)))
    with pytest.raises(MissingData, match=r"gone\.npy"):
        made.check_data()
    with pytest.raises(DataError, match=r"y\.npy: expected 3 labels per row, got 2; correct array_conf\.labels"):
        layer(folder, ARRAY + " shape: 3 labels: 3").check_data()


@pytest.mark.parametrize(
    ("conf", "at", "said"),
    [
        (f'path: "x.npy" {ONE}', ("array_conf", "target"), "expected the targets of its rows, got none; name them"),
        (f"{CSV} has_label: false", ("store_conf", "target"), "expected columns of targets, got has_label: false"),
        (f'{CSV} classes_file: "c.txt"', ("store_conf", "classes_file"), "expected no classes_file of targets"),
    ],
)
def test_a_conf_that_contradicts_targets_is_refused(conf: str, at: tuple[str, ...], said: str, folder: Path) -> None:
    with pytest.raises(ConfigError, match=said) as caught:
        layer(folder, conf)
    assert caught.value.at == at


@pytest.mark.parametrize("kind", ["kRecordInput", "kSyntheticInput", "kSyntheticMasks", "kSyntheticTokens"])
def test_an_input_without_targets_refuses_them(kind: str, folder: Path) -> None:
    conf = 'store_conf { path: "a.bin" shape: 3 shape: 4 batchsize: 2 target: true }'
    with pytest.raises(ConfigError, match="expected labels that are classes, got target: true; kCSVInput and"):
        layer_class(kind)(text_format.Parse(f'name: "it" type: {kind} {conf}', LayerProto()), (), folder=folder)


@pytest.mark.parametrize("bad", ["nan", "inf", "-1e999", "", "cheap", "1_0x"])
def test_a_target_of_a_table_that_is_no_finite_number_is_named_by_its_line(bad: str, folder: Path) -> None:
    write_table(folder / "t.csv", [*Y[:2], [bad, 1], *Y[3:]])
    with pytest.raises(DataError, match=r"t\.csv:4: column 2: expected a (finite float64|number), got '"):
        first_rows(layer(folder, CSV))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_target_of_an_array_that_is_not_finite_is_named_by_its_row(bad: float, folder: Path) -> None:
    y = Y.copy()
    y[4, 1] = bad
    np.save(folder / "y.npy", y)
    with pytest.raises(DataError, match=r"y\.npy: row 4, element \[1\]: expected a finite float64, got (nan|inf)"):
        first_rows(layer(folder, ARRAY))


def test_a_target_beyond_the_compute_dtype_is_named(folder: Path) -> None:
    y = Y.copy()
    y[2, 0] = 1e300
    np.save(folder / "y.npy", y)
    write_table(folder / "t.csv", y)
    with pytest.raises(DataError, match=r"y\.npy: row 2, element \[0\]: expected a finite float32, got 1e\+300"):
        first_rows(layer(folder, ARRAY), np.float32)
    with pytest.raises(DataError, match=r"t\.csv:4: column 2: expected a finite float32, got '1e\+300'"):
        first_rows(layer(folder, CSV), np.float32)


def test_labels_that_are_no_whole_numbers_name_targets(folder: Path) -> None:
    with pytest.raises(DataError, match=r"y\.npy: expected labels that are whole numbers, .* or write target: true"):
        layer(folder, ARRAY.replace("target: true", ""))
    with pytest.raises(DataError, match=r"t\.csv:2: column 2: expected a label.*numbers to predict need target: true"):
        first_rows_of_labels(layer(folder, CSV.replace("target: true", "")))


def first_rows_of_labels(made: RowInput) -> None:
    """Reads the labels of step 0."""
    made.open(len(X), 1, 1).read(0, 0, len(X), None, np.zeros(made.outputs[1].shape, np.int32))


def damage(path: Path, how: str) -> None:
    """Makes ``path`` a file of targets that cannot be used."""
    content = path.read_bytes()
    path.unlink()
    if how == "endless":
        path.symlink_to("/dev/zero")
    elif how == "fifo":
        os.mkfifo(path)
    elif how == "folder":
        path.mkdir()
    elif how != "missing":
        path.write_bytes({"empty": b"", "truncated": content[:-40], "foreign": b"\x89PNG\r\n\x1a\n" + bytes(90)}[how])


@pytest.mark.parametrize("how", ["missing", "empty", "truncated", "foreign", "endless", "fifo", "folder"])
@pytest.mark.parametrize(("name", "conf"), [("y.npy", ARRAY), ("t.csv", CSV)])
def test_a_file_of_targets_that_cannot_be_used_is_named(how: str, name: str, conf: str, folder: Path) -> None:
    damage(folder / name, how)
    with pytest.raises(NetpartError) as caught:
        first_rows(layer(folder, conf))
    assert name in str(caught.value)
    assert "; " in str(caught.value), "expected the next step"


NET = """
layer { name: "data" type: kArrayInput array_conf { %s } }
layer { name: "copy" type: kSplit srclayers: "data" }
layer { name: "ip" type: kInnerProduct srclayers: "copy" innerproduct_conf { num_output: 3 }
  param { init { type: kGaussian } } param { init { type: kConstant } } }
layer { name: "loss" type: %s srclayers: "ip" srclayers: "%s" }
"""


def spec_of_target(conf: str, kind: str, source: str, folder: Path) -> Spec:
    """What the loss of the net reads as its second source."""
    job = read_job_text(f"train_steps: 1 neuralnet {{ {NET % (conf, kind, source)} }}").proto
    net = build_net(job, folder=folder)
    return net.spec(net.nodes[-1].sources[1])


@pytest.mark.parametrize("kind", ["kEuclideanLoss", "kL1Loss", "kHuberLoss"])
def test_a_regression_reads_targets_and_an_auto_encoder_the_data(kind: str, folder: Path) -> None:
    np.save(folder / "y.npy", np.concatenate([Y, Y[:, :1]], axis=1))
    assert spec_of_target(ARRAY, kind, "data", folder) == Spec((7, 3))
    job = read_job_text(f"train_steps: 1 neuralnet {{ {NET % (ARRAY, kind, 'data')} }}").proto
    net = build_net(job, folder=folder)
    assert net.nodes[-1].sources[1].output == 1
    np.save(folder / "y.npy", np.arange(7))
    plain = ARRAY.replace("target: true", "")
    assert spec_of_target(plain, kind, "data", folder) == Spec((7, 3))
    assert spec_of_target(plain, kind, "copy", folder) == Spec((7, 3))


def test_a_layer_that_passes_on_data_without_its_targets_is_no_target(folder: Path) -> None:
    """Data and targets may have one shape, so that the mistake would show in the loss alone."""
    np.save(folder / "y.npy", X)
    with pytest.raises(NetpartError, match="loss: expected a layer with targets, got copy, which passes on the data"):
        spec_of_target(ARRAY, "kL1Loss", "copy", folder)


def test_classes_for_a_regression_and_targets_for_classes_are_refused(folder: Path) -> None:
    for kind in ("kSoftmaxLoss", "kBinaryLoss"):
        with pytest.raises(NetpartError, match="loss: expected labels that are classes, got target: true of data"):
            spec_of_target(ARRAY, kind, "data", folder)
    np.save(folder / "x.npy", np.zeros((7, 9)))
    np.save(folder / "y.npy", np.arange(7))
    plain = ARRAY.replace("target: true", "")
    for kind in ("kL1Loss", "kEuclideanLoss"):
        with pytest.raises(NetpartError, match="an input has targets if its conf has labels and target: true"):
            spec_of_target(plain, kind, "data", folder)


def test_labels_of_several_outputs_are_checked_before_a_run(folder: Path) -> None:
    np.save(folder / "y.npy", np.array([[0, 1], [1, 1], [0, 2], *[[0, 0]] * 4]))
    made = layer(folder, ARRAY.replace("target: true", ""))
    assert made.outputs[1] == Spec((7, 2), INT)
    with pytest.raises(DataError, match=r"y\.npy: row 2: expected a label from 0 to 1, got 2"):
        made.check_labels(2)
