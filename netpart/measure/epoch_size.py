"""Epoch sizes: rows, steps and bytes of one pass over the data of an input layer, found without reading its rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil, prod
from typing import TypeVar

from netpart.data.open_bytes import open_bytes
from netpart.data.remote.url_path import DataPath, UrlPath
from netpart.errors import JobError, NetpartError
from netpart.graph.build import type_name
from netpart.graph.net import Net, Node
from netpart.graph.partition import Partition
from netpart.layers.inputs.rows import RowInput
from netpart.layers.inputs.shard_data import ShardData
from netpart.proto.element import float_size
from netpart.proto.phase import PHASE_VALUES
from netpart.spec import INT

MOST_FILES, MOST_URLS = 1 << 14, 16
"""Largest number of files, and of URLs, whose size is requested. Of more files, as many at even distances are."""
INT_SIZE = 4
PATH_LENGTH = 3
"""Length of the path of a layer in a job: neuralnet, layer, its number."""

_T = TypeVar("_T")


@dataclass(frozen=True)
class EpochSize:
    """One pass over the data of an input layer; None is what is not known.

    ``endless``: the rows are drawn and have no end. ``file_bytes`` are those of all files, read once; if not
    ``exact``, they are an estimate from some of the files. ``value_bytes`` are those of the rows as the net gets them.
    """

    name: str
    type: str
    phase: str
    batch: int
    rows: int | None
    endless: bool
    steps: int | None
    files: int | None
    file_bytes: int | None
    exact: bool
    value_bytes: int | None


def tabulate_epochs(cut: Partition, faults: Iterable[JobError] = ()) -> tuple[EpochSize, ...]:
    """The epochs of all input layers in all phases of ``cut``.

    Of a layer that has one of ``faults`` nothing is known: its data is not opened again, as a server may have to be
    waited for.
    """
    itemsize = float_size(cut.job)
    wrong = {(error.at or ())[:PATH_LENGTH] for error in faults}
    return tuple(
        measure_epoch(node, micros[0].graph.net, micros[-1].rows[1], itemsize, opens=node.at not in wrong)
        for micros in cut.phases.values()
        for node in input_nodes(micros[0].graph.net)
    )


def input_nodes(net: Net) -> Iterator[Node]:
    """The layers of ``net`` that read data."""
    yield from (node for node in net.nodes if node.layer.is_input)


def measure_epoch(node: Node, net: Net, batch: int, itemsize: int, opens: bool = True) -> EpochSize:
    """The epoch of an input layer of ``net``, with mini-batches of ``batch`` rows and floats of ``itemsize`` bytes.

    Unless it ``opens`` the data, nothing of it is known.
    What cannot be found because of an error in the data is None: who reads the data reports the error.
    """
    layer = node.layer
    files = _found_or_none(layer.data_files) if opens and isinstance(layer, RowInput | ShardData) else None
    rows = _found_or_none(lambda: _rows_of_pass(node, net)) if opens else None
    held, exact = _stored_bytes(files) if files is not None else (None, True)
    own = net.rows_of(layer, batch)
    endless = rows is None and files is not None and not files
    values = None if rows is None or not layer.output.shape else rows * row_bytes(node, itemsize)
    steps = None if rows is None else ceil(rows / own)
    count = None if files is None else len(files)
    kind = type_name(node.conf)
    return EpochSize(node.name, kind, net.phase, own, rows, endless, steps, count, held, exact, values)


def row_bytes(node: Node, itemsize: int) -> int:
    """Bytes of a row of an input layer: its values and its labels."""
    return sum(prod(s.shape[1:]) * (INT_SIZE if s.dtype == INT else itemsize) for s in node.layer.outputs)


def _rows_of_pass(node: Node, net: Net) -> int | None:
    """Rows of a pass over the data; None if it has no end, or its number of rows is not known."""
    if isinstance(node.layer, ShardData):
        return node.layer.records()
    return node.layer.rows_per_pass(PHASE_VALUES[net.phase]) if isinstance(node.layer, RowInput) else None


def _found_or_none(find: Callable[[], _T]) -> _T | None:
    """What ``find`` returns; None if the data cannot be read."""
    try:
        return find()
    except (NetpartError, OSError):
        return None


def _stored_bytes(files: Sequence[DataPath]) -> tuple[int | None, bool]:
    """Bytes of all files, None if one is missing; and whether they are exact."""
    total, exact = 0, True
    for kind, most in ((True, MOST_URLS), (False, MOST_FILES)):
        of_kind = [path for path in files if isinstance(path, UrlPath) == kind]
        asked = of_kind[:: max(1, ceil(len(of_kind) / most))]
        size = _found_or_none(partial(_sum_sizes, asked))
        if size is None:
            return None, True
        exact &= len(asked) == len(of_kind)
        total += size * len(of_kind) // max(1, len(asked))
    return total, exact


def _sum_sizes(files: Sequence[DataPath]) -> int:
    """The size of all ``files``. Raises OSError or DataError."""
    # A file is not opened for its size: a folder of photos has many, and their reader refuses what is not regular.
    return sum(open_bytes(path).size if isinstance(path, UrlPath) else os.stat(path).st_size for path in files)
