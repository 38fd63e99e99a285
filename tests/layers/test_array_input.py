"""kArrayInput: shapes, labels and scaling come from the files; what does not fit is refused with file and field."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from google.protobuf import text_format

from netpart.data.stores.mean import write_mean
from netpart.errors import ConfigError, DataError, MissingData
from netpart.layers import layer_class
from netpart.layers.inputs.array_input import ArrayInput
from netpart.proto.job_pb2 import LayerProto
from netpart.spec import INT, Spec

X = np.random.default_rng(1).normal(size=(7, 3, 4))
Y = np.arange(7) % 3


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", Y)
    np.savez(tmp_path / "xy.npz", images=X, labels=Y)
    with h5py.File(tmp_path / "xy.h5", "w") as file:
        file["train/images"], file["train/labels"] = X, Y
    return tmp_path


def layer(folder: Path, conf: str) -> ArrayInput:
    proto = text_format.Parse(f'name: "it" type: kArrayInput array_conf {{ batchsize: 4 {conf} }}', LayerProto())
    made = layer_class("kArrayInput")(proto, (), folder=folder)
    assert isinstance(made, ArrayInput)
    return made


def first_rows(made: ArrayInput, dtype: str = "float64") -> tuple[Any, Any]:
    """Data and labels of step 0."""
    data = np.full(made.output.shape, np.nan, dtype)
    label = np.full(made.outputs[-1].shape, -7, np.int32) if made.labelled else None
    made.open(4, 1, 1, np.dtype(dtype)).read(0, 0, 4, data, label)
    return data, label


FILES = [
    'path: "x.npy" label_path: "y.npy"',
    'path: "xy.npz" data: "images" label: "labels"',
    'path: "xy.npz" label: "labels"',
    'path: "xy.h5" data: "train/images" label: "train/labels"',
    'path: "x.npy" label_path: "xy.h5" label: "train/labels"',
]


@pytest.mark.parametrize("conf", FILES)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_data_and_labels(conf: str, dtype: str, folder: Path) -> None:
    made = layer(folder, conf)
    assert made.outputs == (Spec((4, 3, 4)), Spec((4,), INT))
    assert made.records() == 7
    data, label = first_rows(made, dtype)
    assert np.array_equal(data, X[:4].astype(dtype))
    assert np.array_equal(label, Y[:4])


def test_without_labels_there_is_no_label_output(folder: Path) -> None:
    made = layer(folder, 'path: "x.npy"')
    assert made.outputs == (Spec((4, 3, 4)),)
    assert np.array_equal(first_rows(made)[0], X[:4])


@pytest.mark.parametrize(("shape", "places"), [((7, 5), (5,)), ((7, 3, 4), (12,))])
def test_several_labels_a_row(shape: tuple[int, ...], places: tuple[int, ...], folder: Path) -> None:
    y = np.random.default_rng(3).integers(0, 9, shape)
    np.save(folder / "many.npy", y)
    made = layer(folder, 'path: "x.npy" label_path: "many.npy"')
    assert made.outputs[1] == Spec((4, *places), INT)
    assert np.array_equal(first_rows(made)[1], y[:4].reshape(4, *places))


TOKENS = np.array([[5, 3, 9, 0], [2, 0, 0, 0], [1, 1, 300, 7], [4, 4, 0, 0], [9, 9, 9, 9]])


@pytest.mark.parametrize("kind", ["int64", "uint16", "int32"])
@pytest.mark.parametrize("prefetching", ["", "prefetching: true"])
def test_tokens_are_the_whole_numbers_of_the_file(kind: str, prefetching: str, folder: Path) -> None:
    np.save(folder / "tokens.npy", TOKENS.astype(kind))
    made = layer(folder, f'path: "tokens.npy" tokens: true {prefetching}')
    assert made.outputs == (Spec((4, 4), INT),)
    rows = made.open_ahead(4, 1, 1)
    for step in range(2):  # the second has the fifth row, and then the first three again
        data = np.full((4, 2), -7, np.int32)
        rows.read(step, 0, 4, data, None, ((1, 3),))
        assert np.array_equal(data, TOKENS[[(4 * step + i) % 5 for i in range(4)], 1:3])
    made.check_tokens(301)
    with pytest.raises(DataError, match=r"tokens\.npy: row 2, element \[2\]: expected a token from 0 to 299, got 300"):
        made.check_tokens(300)


def test_tokens_that_are_none_are_refused(folder: Path) -> None:
    with pytest.raises(
        DataError, match=r"x\.npy: expected tokens, which are whole numbers, got float64; save x\.astype"
    ):
        layer(folder, 'path: "x.npy" tokens: true')
    np.save(folder / "tokens.npy", TOKENS + (1 << 40))
    with pytest.raises(DataError, match=r"row 0, element \[0\]: expected a token from -2147483648 to .*; use 32 bits"):
        layer(folder, 'path: "tokens.npy" tokens: true').open(4, 1, 1).read(0, 0, 4, np.empty((4, 4), np.int32), None)
    np.save(folder / "tokens.npy", TOKENS - 1)
    with pytest.raises(DataError, match=r"row 0, element \[3\]: expected a token from 0 to 9, got -1"):
        layer(folder, 'path: "tokens.npy" tokens: true').check_tokens(10)
    with pytest.raises(ConfigError, match="tokens as they are, got a mean_value") as caught:
        layer(folder, 'path: "tokens.npy" tokens: true mean_value: 1')
    assert caught.value.at == ("array_conf", "mean_value")


@pytest.mark.parametrize("mean", ["mean.npy", "mean.bin"])
def test_rows_are_scaled(mean: str, folder: Path) -> None:
    average = X.mean(axis=0).astype(np.float32)
    np.save(folder / "mean.npy", average)
    write_mean(folder / "mean.bin", average)
    np.save(folder / "std.npy", X.std(axis=0))
    made = layer(folder, f'path: "x.npy" mean_file: "{mean}" std_file: "std.npy"')
    assert np.allclose(first_rows(made)[0], (X[:4] - average) / X.std(axis=0), rtol=1e-14)
    assert np.allclose(first_rows(layer(folder, 'path: "x.npy" mean_value: 1 std_value: 4'))[0], (X[:4] - 1) / 4)


def test_a_shape_needs_no_file_until_the_rows_are_read(folder: Path) -> None:
    made = layer(folder, 'path: "gone.npy" label_path: "y.npy" shape: [2, 6] labels: 5')
    assert made.outputs == (Spec((4, 2, 6)), Spec((4, 5), INT))
    with pytest.raises(MissingData, match=r"gone\.npy"):
        made.check_data()
    made = layer(folder, f"{FILES[0]} shape: [2, 6]")
    assert np.array_equal(first_rows(made)[0], X[:4].reshape(4, 2, 6))
    with pytest.raises(DataError, match=r"x\.npy: expected rows of shape \(5,\), got rows of shape \(3, 4\)"):
        layer(folder, f"{FILES[0]} shape: 5").check_data()
    with pytest.raises(DataError, match=r"y\.npy: expected 5 labels per row, got 1; correct array_conf\.labels"):
        layer(folder, f"{FILES[0]} shape: [3, 4] labels: 5").check_data()


def test_rows_are_shuffled_anew_in_each_pass(folder: Path) -> None:
    made = layer(folder, 'path: "x.npy" label_path: "y.npy" shuffle: true prefetching: true')
    rows = made.open_ahead(7, 1, 1)
    seen = list[np.ndarray[Any, Any]]()
    for step in range(2):
        data = np.empty((7, 3, 4))
        rows.read(step, 0, 7, data, None)
        seen.append(data)
    assert not np.array_equal(seen[0], seen[1])
    for data in seen:
        assert np.array_equal(np.sort(data, axis=0), np.sort(X, axis=0))


@pytest.mark.parametrize(
    ("conf", "said"),
    [
        ("", "the path of its data"),
        ('path: "x.npy" std_value: 0', "a positive std_value"),
        ('path: "x.npy" random_skip: -1', "random_skip"),
    ],
)
def test_a_conf_that_cannot_work_is_refused(conf: str, said: str, folder: Path) -> None:
    with pytest.raises(ConfigError, match=said):
        layer(folder, conf).open(4, 1, 1)


def test_labels_that_do_not_fit_are_refused(folder: Path) -> None:
    np.save(folder / "few.npy", Y[:5])
    with pytest.raises(DataError, match=r"few\.npy: expected labels of 7 rows"):
        layer(folder, 'path: "x.npy" label_path: "few.npy"')
    made = layer(folder, FILES[0])
    made.check_labels(3)
    with pytest.raises(DataError, match=r"y\.npy: row 2: expected a label from 0 to 1, got 2"):
        made.check_labels(2)


def test_a_mean_that_does_not_fit_is_refused_at_its_field(folder: Path) -> None:
    np.save(folder / "mean.npy", X[0, :2])
    with pytest.raises(DataError, match=r"expected a mean of shape \(3, 4\), got \(2, 4\)"):
        layer(folder, 'path: "x.npy" mean_file: "mean.npy"').open(4, 1, 1)
    np.save(folder / "std.npy", np.zeros((3, 4)))
    with pytest.raises(DataError, match=r"std\.npy: expected positive numbers") as caught:
        layer(folder, 'path: "x.npy" std_file: "std.npy"').open(4, 1, 1)
    assert caught.value.at == ("array_conf", "std_file")


def test_without_h5py_the_extra_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    from netpart.errors import NetpartError

    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(NetpartError, match=r"expected h5py, got .*; `pip install 'netpart\[hdf5\]'`"):
        layer(folder, FILES[3])
