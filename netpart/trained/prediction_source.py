"""Sources of a prediction: other rows for the input layer of a job, and how many there are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from netpart.data.remote.url_path import DataPath, parse_url, refuse_misspelt_url, url_settings
from netpart.data.source_file import SUFFIX
from netpart.data.stores.store import open_store
from netpart.errors import ConfigError, JobError, NetpartError
from netpart.files import is_url
from netpart.graph.net import Net
from netpart.layers.inputs.parser import RecordParser
from netpart.layers.inputs.rows import RowInput
from netpart.layers.inputs.shard_data import ShardData
from netpart.layers.layer import Layer
from netpart.proto.job_pb2 import JobProto, LayerProto
from netpart.spec import Shape
from netpart.trained.input_errors import input_error
from netpart.trained.replaced_input import input_fields, layer_kind, set_source

if TYPE_CHECKING:
    from netpart.proto.reader import Job

ORDERS = "shuffle", "random_skip"
"""Fields of a conf that change the order of the rows."""


def parse_source(job: Job, text: str) -> DataPath:
    """The file or URL that ``text`` names, to be read by the settings of ``job``. Raises DataError for a wrong URL."""
    if is_url(text):
        return parse_url(text, url_settings(job.proto.data_cache))
    if not Path(text).exists():
        refuse_misspelt_url(text)
    return Path(text)


def read_source(job: Job, part: JobProto, source: DataPath | None) -> JobProto:
    """A copy of ``part``, a part of ``job``, whose input layer reads ``source`` in the order of its rows.

    Without a source it reads its own data. A NumPy file (.npy) may replace the data of any input layer; otherwise it
    has to be what the layer reads. A text is read window by window. Raises ConfigError, DataError.
    """
    copy = JobProto()
    copy.CopyFrom(part)
    for conf in copy.neuralnet.layer:
        _clear_fields(conf, ORDERS)
    if source is not None:
        conf = _source_layer(copy, source.suffix == SUFFIX)
        wanted = _own_shape(job, conf)
        try:
            set_source(conf, source, _source_batch_sizes(copy, conf), wanted)
            if layer_kind(conf).is_input:
                _check_source(_open_layer(job, conf), wanted, source)
        except JobError as error:
            raise input_error(error, conf.name) from error
    return copy


def count_source_rows(net: Net, most: int | None) -> int:
    """The number of rows to predict for: ``most``, or else all that the inputs of ``net`` have.

    Raises ConfigError for inputs without an end, and for ``most`` that exceeds what they have.
    """
    found = [count for node in net.nodes if (count := _count_rows(node.layer)) is not None]
    if most is None and not found:
        raise ConfigError("--rows", "a number of rows, as the data has no end", "none", "add --rows N")
    if most is not None and found and most > min(found):
        raise ConfigError("--rows", f"at most the {min(found)} rows of the data", str(most), "write a smaller number")
    return min(found) if most is None else most


def _count_rows(layer: Layer) -> int | None:
    """The rows of an input layer; None for another layer, and for data without an end."""
    if isinstance(layer, ShardData):
        with open_store("kvfile", layer.path) as store:
            return len(store)
    return layer.records() if isinstance(layer, RowInput) else None


def _source_layer(job: JobProto, as_array: bool) -> LayerProto:
    """The layer whose data is replaced: the input layer or, ``as_array``, the parser that reads its records."""
    parsers = [conf for conf in job.neuralnet.layer if issubclass(layer_kind(conf), RecordParser)]
    inputs = [conf for conf in job.neuralnet.layer if layer_kind(conf).is_input]
    found = parsers if as_array and parsers else inputs
    if len(found) != 1:
        got = ", ".join(conf.name for conf in found) or "none"
        raise ConfigError("--input", "a net with one input layer", got, "omit --input, and set the paths with --set")
    return found[0]


def _source_batch_sizes(job: JobProto, conf: LayerProto) -> list[int]:
    """The field ``batchsize`` of an input layer, or of the layer whose records a parser reads."""
    kind = layer_kind(conf)
    if issubclass(kind, RowInput):
        return list(getattr(conf, kind.field).batchsize)
    return [other.sharddata_conf.batchsize for other in job.neuralnet.layer if other.name in conf.srclayers]


def _own_shape(job: Job, conf: LayerProto) -> Shape | None:
    """The shape of a row of the layer; None if that is not known without its data, which may be absent."""
    try:
        return _open_layer(job, conf).output.shape[1:]
    except NetpartError:
        return None


def _open_layer(job: Job, conf: LayerProto) -> Layer:
    """The layer of ``conf`` alone. Raises ConfigError, DataError."""
    return layer_kind(conf)(conf, (), folder=job.folder, training=False, data_cache=job.proto.data_cache)


def _check_source(layer: Layer, wanted: Shape | None, source: DataPath) -> None:
    """Raise ConfigError if the rows of ``source``, which the layer reads, do not have the shape ``wanted``, if that is
    known. Raises DataError if they cannot be counted."""
    found = layer.output.shape[1:]
    if wanted not in (None, found):
        hint = "give them the shape of the rows on which the net was trained"
        got = f"{found} in {source}"
        raise ConfigError("--input", f"rows of shape {wanted}, as {layer.name} reads them", got, hint)
    _count_rows(layer)


def _clear_fields(conf: LayerProto, names: tuple[str, ...]) -> None:
    """Clear the fields ``names`` of the confs of an input layer."""
    for message, name in input_fields(conf, names) if layer_kind(conf).is_input else ():
        message.ClearField(name)
