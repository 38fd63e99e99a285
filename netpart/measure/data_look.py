"""Data look: the first rows that a job reads, figures of a sample of them, and what an epoch costs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from netpart.errors import ConfigError
from netpart.graph.build import locate_errors
from netpart.layers.inputs.rows import RowInput
from netpart.layers.layer import Layer
from netpart.measure.class_counts import ClassCount, LabelCounter
from netpart.measure.epoch_size import EpochSize, measure_epoch
from netpart.measure.ignored_labels import find_ignored_labels
from netpart.measure.input_rows import InputRows, open_input_rows
from netpart.measure.row_look import RowLook, describe_row, labels_are_tokens
from netpart.measure.scaling_fields import suggest_scaling
from netpart.measure.source_sizes import find_source_sizes
from netpart.measure.value_statistics import ValueStatistics, ValueSummary
from netpart.spec import Shape

if TYPE_CHECKING:
    from netpart.proto.reader import Job

Values = NDArray[Any]
AT_ONCE = 64 << 20
"""Largest number of bytes of values that are read at once, if a row has fewer."""


@dataclass(frozen=True)
class ReadCost:
    """How fast ``rows`` were read, and what an epoch costs at that rate. None is what is not known.

    ``opening`` are the seconds before the first row. ``stored_rate`` is the bytes of files read per second, of the
    share of them that the rows are.
    """

    rows: int
    opening: float
    reading: float
    rows_per_second: float
    stored_rate: float | None
    epoch_seconds: float | None


@dataclass(frozen=True)
class InputLook:
    """What the rows of one input layer are. ``sizes`` describes its images or scans before they are scaled.

    ``scaling`` are the fields, and their values, with which the sampled values get mean 0 and standard deviation 1.
    ``shuffled`` is the field that sets another order than that of the files, "" without one. ``ignored`` are the labels
    that a layer of the job ignores, apart from the ``classes``. ``targets`` are the figures of numbers to predict.
    ``columns`` and ``target_columns`` are the names of the values and targets of a row, if they have any.
    """

    name: str
    type: str
    shape: Shape
    labels: Shape | None
    batch: int
    sizes: str
    shuffled: str
    first: tuple[RowLook, ...]
    values: ValueSummary | None
    scaling: dict[str, list[float]]
    classes: tuple[ClassCount, ...]
    ignored: tuple[ClassCount, ...]
    targets: ValueSummary | None
    columns: tuple[str, ...]
    target_columns: tuple[str, ...]
    epoch: EpochSize
    cost: ReadCost


@dataclass(frozen=True)
class ShownRows:
    """The values, and the labels or targets, of the rows that are shown, with the input that has read them."""

    source: InputRows
    data: Values | None
    label: Values | None


def look_at_data(job: Job, phase: str, rows: int, sample: int) -> Iterator[tuple[InputLook, ShownRows]]:
    """Yield what the input layers of ``phase`` read from step 0 on: the first ``rows`` rows, and figures of ``sample``.

    With 0 as sample the figures are those of a whole epoch. Raises ConfigError for a whole epoch of endless data, and
    the errors of the inputs, each at its place in the job.
    """
    for source in open_input_rows(job, phase):
        ignored = find_ignored_labels(job.proto, phase, source.node.name)
        yield _look_at_input(source, rows, sample, ignored)


def _look_at_input(source: InputRows, rows: int, sample: int, ignored: frozenset[int]) -> tuple[InputLook, ShownRows]:
    layer, node = source.node.layer, source.node
    with locate_errors(node.at, node.conf):
        if isinstance(layer, RowInput):
            layer.check_data(source.phase)
    epoch = _whole_epoch(source)
    count = _sample_size(epoch, max(rows, sample) if sample else 0)
    reader = _SampleReader(source, min(rows, count))
    reader.read(count)
    shown = reader.shown()
    names = layer.class_names() if isinstance(layer, RowInput) else ()
    values = reader.values.summary() if reader.values else None
    look = InputLook(
        name=node.name,
        type=epoch.type,
        shape=() if shown.data is None else shown.data.shape[1:],
        labels=None if shown.label is None or reader.targets else shown.label.shape[1:],
        batch=source.batch,
        sizes=find_source_sizes(layer),
        shuffled=_shuffled_field(layer),
        first=tuple(describe_row(layer, n, *row, names) for n, row in enumerate(_pairs(shown))),
        values=values,
        scaling=suggest_scaling(layer, values),
        classes=reader.labels.counts(names, ignored) if reader.labels else (),
        ignored=reader.labels.ignored_counts(ignored) if reader.labels else (),
        targets=reader.targets.summary() if reader.targets else None,
        columns=layer.column_names() if isinstance(layer, RowInput) else (),
        target_columns=layer.target_names() if isinstance(layer, RowInput) and reader.targets else (),
        epoch=epoch,
        cost=_read_cost(source, count, epoch),
    )
    return look, shown


def _shuffled_field(layer: Layer) -> str:
    """The field of a layer that shuffles its rows, "" if none does."""
    for name in layer.confs:
        if getattr(getattr(layer.conf, name, None), "shuffle", False):
            return f"{name}.shuffle"
    return ""


def _whole_epoch(source: InputRows) -> EpochSize:
    """The epoch of an input; of records, with the bytes of what the layers that decode them return."""
    found = measure_epoch(source.node, source.net, source.net.rows, source.itemsize)
    if found.rows is None or found.value_bytes is not None:
        return found
    return replace(found, value_bytes=found.rows * source.row_bytes)


def _sample_size(epoch: EpochSize, wanted: int) -> int:
    """Rows to read: ``wanted``, or an epoch if that is 0 or has fewer. Raises ConfigError for an endless epoch."""
    if not wanted and epoch.rows is None:
        raise ConfigError("--sample", "a number of rows, as the data has no end", "0", "write --sample 1000, say")
    return min(wanted or epoch.rows or 0, epoch.rows or wanted)


class _SampleReader:
    """Reader of the sample of ``source``, which keeps its first ``rows`` rows."""

    def __init__(self, source: InputRows, rows: int) -> None:
        self._source = source
        self._rows = rows
        self._kept: list[tuple[Values | None, Values | None]] = []
        self.values: ValueStatistics | None = None
        self.labels: LabelCounter | None = None
        self.targets: ValueStatistics | None = None

    def read(self, count: int) -> None:
        """Read the first ``count`` rows, and add them to the figures."""
        for first, last in _blocks(count, self._source.batch, max(1, AT_ONCE // max(1, self._source.row_bytes))):
            data, label = self._source.read(first, last)
            # Rows of tokens are numbers of words: they have extremes, but no channels.
            tokens = data is not None and data.dtype.kind == "i"
            if data is not None:
                self.values = self.values or ValueStatistics(() if tokens else data.shape[1:])
                self.values.add(first, data)
            if label is not None and not labels_are_tokens(self._source.node.layer):
                self._add_labels(first, label)
            if first < self._rows:
                kept = self._rows - first
                self._kept.append((None if data is None else data[:kept], None if label is None else label[:kept]))

    def _add_labels(self, first: int, label: Values) -> None:
        """Add the labels of a block of rows, classes or numbers to predict."""
        if label.dtype.kind == "f":
            self.targets = self.targets or ValueStatistics(label.shape[1:])
            self.targets.add(first, label)
        else:
            self.labels = self.labels or LabelCounter()
            self.labels.add(label)

    def shown(self) -> ShownRows:
        """The first rows."""
        data, label = ([each for each in column if each is not None] for column in zip(*self._kept, strict=True))
        joined = (np.concatenate(each) if each else None for each in (data, label))
        return ShownRows(self._source, *joined)


def _blocks(count: int, batch: int, most: int) -> Iterator[tuple[int, int]]:
    """Yield (first, last (excluded)) of blocks of at most ``most`` of ``count`` rows, each in one mini-batch."""
    first = 0
    while first < count:
        last = min(first + most, first - first % batch + batch, count)
        yield first, last
        first = last


def _pairs(shown: ShownRows) -> Iterator[tuple[Values | None, Values | None]]:
    """The values and labels of each row."""
    count = len(next(each for each in (shown.data, shown.label) if each is not None))
    for n in range(count):
        yield (None if shown.data is None else shown.data[n]), (None if shown.label is None else shown.label[n])


def _read_cost(source: InputRows, count: int, epoch: EpochSize) -> ReadCost:
    """The cost of reading, of which ``count`` rows were read."""
    rate = count / max(source.reading, 1e-9)
    stored = None if epoch.file_bytes is None or not epoch.rows else epoch.file_bytes / epoch.rows * rate
    seconds = None if epoch.rows is None else source.opening + epoch.rows / rate
    return ReadCost(count, source.opening, source.reading, rate, stored, seconds)
