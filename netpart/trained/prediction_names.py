"""Names in the files of predictions: the files from which the rows are, and the words for the classes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from netpart.data.remote.url_path import DataPath
from netpart.data.stores.csv_classes import read_classes
from netpart.errors import NetpartError
from netpart.files import is_url
from netpart.layers.inputs.csv_input import CSVInput
from netpart.layers.inputs.rows import RowInput
from netpart.layers.inputs.stores import data_path, local_path
from netpart.proto.job_pb2 import JobProto, LayerProto
from netpart.proto.phase import in_phase
from netpart.trained.replaced_input import layer_kind

if TYPE_CHECKING:
    from netpart.proto.reader import Job

TRAIN = "train"
_COMPOUND = ".nii.gz"


def row_names(source: RowInput | None) -> list[str]:
    """The name of the file of each row, relative to the folder or the list that ``source`` reads; none if the rows are
    not files of their own."""
    files = source.row_files() if source is not None else ()
    if source is None or not files:
        return []
    path = data_path(source, getattr(source.conf, source.field).path, source.field, "path")
    base = path if path.is_dir() else path.parent
    return [_relative_name(base, file) for file in files]


def _relative_name(base: DataPath, file: DataPath) -> str:
    """The name of ``file`` below ``base``; its whole path if it is elsewhere."""
    return str(file).removeprefix(f"{str(base).rstrip('/')}/") if str(base) != "." else str(file)


def class_names(job: Job) -> tuple[str, ...]:
    """The names of the classes in the training data of ``job``: its folders, or the lines of its classes_file.

    Empty if they have no names, or if they are not known because the data is absent.
    """
    return next((names for conf in _training_inputs(job.proto) if (names := _layer_names(job, conf))), ())


def _training_inputs(job: JobProto) -> Iterator[LayerProto]:
    """The input layers of the training net."""
    layers = (conf for conf in job.neuralnet.layer if in_phase(conf, TRAIN))
    return (conf for conf in layers if issubclass(layer_kind(conf), RowInput))


def _layer_names(job: Job, conf: LayerProto) -> tuple[str, ...]:
    """The names of the classes of an input layer. Missing names never keep a prediction from being written."""
    if conf.image_conf.classes:
        return tuple(conf.image_conf.classes)
    if is_url(conf.image_conf.path):  # no server is asked for names alone
        return ()
    try:
        layer = layer_kind(conf)(conf, (), folder=job.folder, training=False, data_cache=job.proto.data_cache)
        if isinstance(layer, CSVInput) and conf.store_conf.classes_file:
            path = local_path(layer, conf.store_conf.classes_file, "store_conf", "classes_file")
            return tuple(word.decode(errors="replace") for word in read_classes(path))
        return layer.class_names() if isinstance(layer, RowInput) else ()
    except NetpartError:
        return ()


def map_names(rows: int, names: Sequence[str], suffix: str) -> list[str]:
    """A different file name for the label map of each row: that of its image with ``suffix``, or its number.

    A name in a folder keeps that, so that ``masks`` of kImageInput finds the maps of a folder of images.
    """
    taken = set[str]()
    found = list[str]()
    for row in range(rows):
        name = _map_stem(names[row]) if row < len(names) else str(row)
        while name in taken:
            name += f"-{row}"
        taken.add(name)
        found.append(name + suffix)
    return found


def _map_stem(name: str) -> str:
    """The name of a row's file without its suffix, inside the folder of the label maps."""
    path = PurePosixPath(name)
    if is_url(name) or path.is_absolute() or ".." in path.parts:
        path = PurePosixPath(path.name)
    return str(path).removesuffix(_COMPOUND) if name.endswith(_COMPOUND) else str(path.with_suffix(""))
