"""Sources of a prediction: other rows for the input layer of a job, and how many there are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from netpart.data.remote.url_path import DataPath, UrlPath, parse_url, refuse_misspelt_url, url_settings
from netpart.data.source_file import SUFFIX
from netpart.data.stores.store import open_store
from netpart.errors import ConfigError, NetpartError
from netpart.files import is_url
from netpart.graph.build import type_name
from netpart.graph.net import Net
from netpart.layers import ARRAY_NUMBERS, ARRAY_TOKENS, TOKENS_OF_2, TOKENS_OF_4, layer_class
from netpart.layers.inputs.array_input import ArrayInput
from netpart.layers.inputs.parser import RecordParser
from netpart.layers.inputs.rows import RowInput
from netpart.layers.inputs.shard_data import ShardData
from netpart.layers.inputs.text import TextInput
from netpart.layers.inputs.token_input import TokenInput
from netpart.layers.inputs.windows import WindowInput
from netpart.layers.layer import Layer
from netpart.proto.input_pb2 import TokenProto
from netpart.proto.job_pb2 import JobProto, LayerProto, LayerType, StoreProto
from netpart.spec import Shape

if TYPE_CHECKING:
    from netpart.proto.reader import Job

PATHS = "path", "files"
"""Fields of a conf that name the data of an input layer."""
LABELS: tuple[Literal["label", "label_path", "labels", "target"], ...] = ("label", "label_path", "labels", "target")
"""Fields of an array_conf that name labels."""
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
        wanted = _sample_shape(job, conf)
        _set_source(conf, source, _source_batch_sizes(copy, conf))
        _require_shape(job, conf, wanted)
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
    parsers = [conf for conf in job.neuralnet.layer if issubclass(_kind(conf), RecordParser)]
    inputs = [conf for conf in job.neuralnet.layer if _kind(conf).is_input]
    found = parsers if as_array and parsers else inputs
    if len(found) != 1:
        got = ", ".join(conf.name for conf in found) or "none"
        raise ConfigError("--input", "a net with one input layer", got, "omit --input, and set the paths with --set")
    return found[0]


def _kind(conf: LayerProto) -> type[Layer]:
    """The class of a layer."""
    return layer_class(type_name(conf), who=conf.name)


def _source_batch_sizes(job: JobProto, conf: LayerProto) -> list[int]:
    """The field ``batchsize`` of an input layer, or of the layer whose records a parser reads."""
    kind = _kind(conf)
    if issubclass(kind, RowInput):
        return list(getattr(conf, kind.field).batchsize)
    return [other.sharddata_conf.batchsize for other in job.neuralnet.layer if other.name in conf.srclayers]


def _set_source(conf: LayerProto, source: DataPath, sizes: list[int]) -> None:
    """Let the layer of ``conf`` read ``source`` in mini-batches of ``sizes`` rows."""
    path = source.address if isinstance(source, UrlPath) else str(source.absolute())
    if issubclass(_kind(conf), ArrayInput):
        for name in LABELS:  # predictions read none, and those of the job belong to other rows
            conf.array_conf.ClearField(name)
        conf.array_conf.path = path
        return None
    if source.suffix == SUFFIX:
        kind = _kind(conf)
        tokens = issubclass(kind, RowInput) and kind.reads_tokens
        return _become_array(conf, ARRAY_TOKENS if tokens else ARRAY_NUMBERS, StoreProto(path=path, batchsize=sizes))
    if issubclass(_kind(conf), WindowInput):
        window, element = _plain_windows(conf, source)
        return _become_array(conf, element, StoreProto(path=path, batchsize=sizes, shape=[window]))
    if not _replace_path(conf, path):
        expected = f"a .npy of rows, as {conf.name} ({type_name(conf)}) reads no file"
        raise ConfigError("--input", expected, str(source), "save the rows with numpy.save")
    return None


def _plain_windows(conf: LayerProto, source: DataPath) -> tuple[int, str]:
    """The window of a layer of tokens, and the user_type that reads files without a header as it does."""
    if issubclass(_kind(conf), TextInput):
        return max(1, conf.text_conf.window), ARRAY_TOKENS
    if issubclass(_kind(conf), TokenInput):
        wide = conf.token_conf.element == TokenProto.UINT32
        return max(1, conf.token_conf.window), TOKENS_OF_4 if wide else TOKENS_OF_2
    hint = "save windows of tokens with numpy.save, as (rows, window)"
    raise ConfigError("--input", f"a .npy of rows, as {conf.name} draws its windows at random", str(source), hint)


def _become_array(conf: LayerProto, user_type: str, rows: StoreProto) -> None:
    """Turn ``conf`` into an input layer of ``rows``: of an array, or of plain elements if they have a shape."""
    for name in _kind(conf).confs:
        conf.ClearField(name)
    conf.ClearField("srclayers")
    conf.type = LayerType.kUserLayer
    conf.user_type = user_type
    conf.store_conf.CopyFrom(rows)


def _sample_shape(job: Job, conf: LayerProto) -> Shape | None:
    """The shape of a row of the layer; None if that is not known without its data, which may be absent."""
    try:
        layer = _kind(conf)(conf, (), folder=job.folder, training=False, data_cache=job.proto.data_cache)
        return layer.output.shape[1:]
    except NetpartError:
        return None


def _require_shape(job: Job, conf: LayerProto, wanted: Shape | None) -> None:
    """Raise ConfigError if the rows of the layer have another shape than ``wanted``."""
    found = _sample_shape(job, conf)
    if None not in (wanted, found) and wanted != found:
        hint = "give them the shape of the rows on which the net was trained"
        raise ConfigError("--input", f"rows of shape {wanted}, as {conf.name} reads them", str(found), hint)


def _replace_path(conf: LayerProto, path: str) -> bool:
    """Replace the path of the layer's data; False if it has none."""
    for message, name in _data_fields(conf, PATHS):
        value = getattr(message, name)
        if value:
            message.ClearField(name)
            setattr(message, name, path) if isinstance(value, str) else getattr(message, name).append(path)
            return True
    return False


def _clear_fields(conf: LayerProto, names: tuple[str, ...]) -> None:
    """Clear the fields ``names`` of the confs of an input layer."""
    for message, name in _data_fields(conf, names) if _kind(conf).is_input else ():
        message.ClearField(name)


def _data_fields(conf: LayerProto, names: tuple[str, ...]) -> list[tuple[Any, str]]:
    """(message, field) of the fields ``names`` in the confs that the layer's type reads."""
    set_confs = [getattr(conf, name) for name in _kind(conf).confs if conf.HasField(name)]
    return [(each, name) for each in set_confs for name in names if name in each.DESCRIPTOR.fields_by_name]
