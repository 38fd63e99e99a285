"""kArrayInput: rows of arrays in files of NumPy (.npy, .npz) and HDF5."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import DTypeLike, NDArray

from netpart.data.arrays.array_file import open_array
from netpart.data.arrays.array_rows import (
    ArrayRows,
    check_finite,
    check_labels_below,
    check_tokens_below,
    label_shape,
    require_labels_fit,
    require_whole_numbers,
)
from netpart.data.arrays.row_array import RowArray
from netpart.data.record_order import RecordOrder
from netpart.data.remote.url_path import DataPath
from netpart.data.row_scaling import RowScaling
from netpart.data.row_source import RowSource
from netpart.data.stores.mean import read_mean, read_std
from netpart.errors import DataError
from netpart.files import is_url
from netpart.kernels import philox
from netpart.layers.checks import at_least, fault
from netpart.layers.inputs.rows import RowInput
from netpart.layers.inputs.stores import data_path, draw_skip
from netpart.spec import INT, Region, Shape, Spec

NPY = ".npy"
SCALING = "mean_value", "std_value", "mean_file", "std_file"
"""The fields of array_conf by which rows are scaled."""


@final
class ArrayInput(RowInput):
    """Outputs data (batch, *row) and, if array_conf names labels, label (batch), (batch, labels) or (batch, places).
    With target: true these are numbers to predict: target (batch, labels), of one label (batch, 1).

    Rows are (element - mean) / std, or the whole numbers of the file if array_conf says that they are tokens. A part
    reads its own rows, and computes with its region of them.
    """

    types: ClassVar[tuple[str, ...]] = ("kArrayInput",)
    confs: ClassVar[tuple[str, ...]] = ("array_conf",)
    field = "array_conf"
    reads_targets: ClassVar[bool] = True

    def infer(self) -> tuple[Spec, ...]:
        conf = self.conf.array_conf
        self.labelled = bool(conf.label or conf.label_path)
        at_least(self, 0, conf.random_skip, self.field, "random_skip")
        if conf.tokens:
            self._refuse_scaled_tokens()
        if conf.target and not self.labelled:
            hint = "name them with label_path or label"
            raise fault(self, "the targets of its rows", "none", hint, self.field, "target")
        data, *label = super().infer()
        data = Spec(data.shape, INT) if conf.tokens else data
        if conf.target:
            return data, self.set_targets(math.prod(self.places))
        return (data, *(Spec((spec.shape[0], *self.places), INT) for spec in label))

    def _refuse_scaled_tokens(self) -> None:
        for name in SCALING:
            if self.conf.array_conf.HasField(name):
                raise fault(self, "tokens as they are", f"a {name}", f"omit {name} or tokens", self.field, name)

    def sample(self) -> Shape:
        conf = self.conf.array_conf
        self.places: Shape = (conf.labels,) * (at_least(self, 0, conf.labels, self.field, "labels") > 1)
        # With a shape the file is not opened: a job is planned where its data is not.
        if conf.shape:
            return tuple(conf.shape)
        label = self.label()
        self.places = () if label is None else self._shape_of(label)
        return self.data().shape[1:]

    def cuts(self) -> tuple[int | str, ...]:
        return tuple(range(self.output.rank))

    def outputs_of(self, region: Region) -> tuple[Region, ...]:
        return (region, *((region[0], *spec.whole[1:]) for spec in self.outputs[1:]))

    def data(self) -> RowArray:
        """The array of the rows. Raises DataError if it cannot be read."""
        conf = self.conf.array_conf
        path = data_path(self, conf.path, self.field, "path")
        found = open_array(path, conf.data, [conf.label] if conf.label and not conf.label_path else [])
        if conf.tokens:
            require_whole_numbers(found)
        return found

    def label(self) -> RowArray | None:
        """The array of the labels; None if the conf names none. Raises DataError if it does not fit the rows."""
        conf = self.conf.array_conf
        if not self.labelled:
            return None
        at = "label_path" if conf.label_path else "path"
        label = open_array(data_path(self, getattr(conf, at), self.field, at), conf.label, field="label")
        require_labels_fit(self.data(), label, conf.target)
        if self._shape_of(label) != self.places and conf.shape:
            got = f"{math.prod(self._shape_of(label))}"
            raise DataError(
                f"{label.place}: expected {conf.labels or 1} labels per row, got {got}; correct array_conf.labels"
            )
        return label

    def _shape_of(self, label: RowArray) -> Shape:
        """The shape of the labels of a row in ``label``: () for one. Targets are counted alone."""
        shape = label_shape(label)
        return () if self.conf.array_conf.target and math.prod(shape) == 1 else shape

    def records(self) -> int | None:
        return len(self.data())

    def data_files(self) -> Sequence[DataPath]:
        conf = self.conf.array_conf
        paths = [data_path(self, conf.path, self.field, "path")]
        if conf.label_path:
            paths.append(data_path(self, conf.label_path, self.field, "label_path"))
        return list(dict.fromkeys(paths))

    def check_data(self, phase: int = 1) -> None:
        super().check_data(phase)
        target = self.label() if self.conf.array_conf.target else None
        for array, at in ((self.data(), "path"), (target, "label_path")):
            # Of a URL only a run reads the rows.
            if array is not None and not is_url(getattr(self.conf.array_conf, at)):
                check_finite(array)

    def check_labels(self, classes: int, ignored: int | None = None) -> None:
        label = self.label()
        if label is not None:
            check_labels_below(label, classes, ignored)

    def check_tokens(self, classes: int) -> None:
        check_tokens_below(self.data(), classes)

    def open(self, batch: int, seed: int, phase: int, dtype: DTypeLike = np.float32) -> RowSource:
        conf = self.conf.array_conf
        data, shape = self.data(), self.output.shape[1:]
        if math.prod(data.shape[1:]) != math.prod(shape):
            got = f"rows of shape {data.shape[1:]}"
            raise DataError(f"{data.place}: expected rows of shape {shape}, got {got}; correct array_conf.shape")
        stream = philox.stream_key(seed, self.name, "shuffle")
        shuffled = (lambda epoch: philox.draw_permutation(stream, epoch, len(data))) if conf.shuffle else None
        order = RecordOrder(len(data), batch, draw_skip(self, conf.random_skip, seed), shuffled)
        scaling = None if conf.tokens else self.scaling(shape)
        rows = ArrayRows(data, self.label(), order, scaling, shape, conf.target)
        return rows

    def scaling(self, shape: Shape) -> RowScaling:
        """The scaling of rows of ``shape``. Raises ConfigError or DataError for a mean or std that does not fit."""
        conf = self.conf.array_conf
        if conf.HasField("std_value") and conf.std_value <= 0:
            got = f"{conf.std_value:g}"
            raise fault(self, "a positive std_value", got, "omit it", self.field, "std_value")
        mean = self._scaling_file("mean", shape) if conf.mean_file else conf.mean_value
        std = self._scaling_file("std", shape) if conf.std_file else (conf.std_value or 1.0)
        return RowScaling(data_path(self, conf.path, self.field, "path"), shape, mean, std)

    def _scaling_file(self, purpose: str, shape: Shape) -> NDArray[Any]:
        """The values of mean_file or std_file, an array or a record of ``shape``."""
        at = self.field, f"{purpose}_file"
        path = data_path(self, getattr(self.conf.array_conf, at[-1]), *at)
        try:
            if path.suffix != NPY:
                return (read_std if purpose == "std" else read_mean)(path, shape)
            return _read_values(open_array(path), purpose)
        except DataError as error:
            error.at = at  # the field of the job, so that the error shows its line
            raise


def _read_values(array: RowArray, purpose: str) -> NDArray[Any]:
    """All elements of ``array``, float64. Raises DataError if one is not finite or, of a std, not positive."""
    values = array.rows(0, len(array)).astype(np.float64)
    if not np.isfinite(values).all() or (purpose == "std" and not (values > 0).all()):
        wanted = "positive numbers" if purpose == "std" else "finite numbers"
        raise DataError(f"{array.place}: expected {wanted}, got others; compute it anew from this data set")
    return values
