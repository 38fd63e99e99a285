"""The change of an input layer that lets it read the source of a prediction in place of its own data."""

from __future__ import annotations

from math import prod
from typing import Any, Literal

from netpart.data.remote.url_path import DataPath, UrlPath
from netpart.data.source_file import SUFFIX
from netpart.errors import ConfigError
from netpart.graph.build import type_name
from netpart.layers import ARRAY_NUMBERS, ARRAY_TOKENS, IMAGES, TOKENS_OF_2, TOKENS_OF_4, layer_class
from netpart.layers.inputs.array_input import ArrayInput
from netpart.layers.inputs.csv_input import CSVInput
from netpart.layers.inputs.images import ImagesInput
from netpart.layers.inputs.rows import RowInput
from netpart.layers.inputs.text import TextInput
from netpart.layers.inputs.token_input import TokenInput
from netpart.layers.inputs.windows import WindowInput
from netpart.layers.layer import Layer
from netpart.proto.input_pb2 import TokenProto
from netpart.proto.job_pb2 import LayerProto, LayerType, StoreProto
from netpart.spec import Shape
from netpart.trained.unlabelled_csv import omit_labels

PATHS = "path", "files"
"""Fields of a conf that name the data of an input layer."""
LABELS: tuple[Literal["label", "label_path", "labels", "target"], ...] = ("label", "label_path", "labels", "target")
"""Fields of an array_conf that name labels."""
TAR = ".tar"


def layer_kind(conf: LayerProto) -> type[Layer]:
    """The class of a layer."""
    return layer_class(type_name(conf), who=conf.name)


def set_source(conf: LayerProto, source: DataPath, sizes: list[int], sample: Shape | None) -> None:
    """Let the layer of ``conf`` read ``source``, without labels, in mini-batches of ``sizes`` rows.

    ``sample`` is the shape of a row of its own data, if that is known. Raises ConfigError for a layer that reads no
    file, DataError for a CSV file without its header.
    """
    path = source.address if isinstance(source, UrlPath) else str(source.absolute())
    kind = layer_kind(conf)
    if issubclass(kind, ArrayInput):
        return _set_array(conf, path)
    if source.suffix == SUFFIX:
        tokens = issubclass(kind, RowInput) and kind.reads_tokens
        return _become_array(conf, ARRAY_TOKENS if tokens else ARRAY_NUMBERS, StoreProto(path=path, batchsize=sizes))
    if issubclass(kind, WindowInput):
        window, element = _plain_windows(conf, source)
        return _become_array(conf, element, StoreProto(path=path, batchsize=sizes, shape=[window]))
    if issubclass(kind, ImagesInput) and not str(source).endswith(TAR):
        return _become_images(conf, path, sample)
    if issubclass(kind, CSVInput):
        omit_labels(conf.store_conf, source, None if sample is None else prod(sample))
    return _replace_path(conf, source, path)


def _set_array(conf: LayerProto, path: str) -> None:
    """Let a kArrayInput read ``path`` without labels: those of the job belong to other rows."""
    for name in LABELS:
        conf.array_conf.ClearField(name)
    conf.array_conf.path = path


def _become_images(conf: LayerProto, path: str, sample: Shape | None) -> None:
    """Turn ``conf`` into an input layer of images at ``path``, of the shape ``sample`` of the job's own images."""
    conf.ClearField("tar_conf")
    conf.ClearField("srclayers")
    conf.type = LayerType.kUserLayer
    conf.user_type = IMAGES
    conf.image_conf.path = path
    conf.image_conf.ClearField("masks")
    conf.image_conf.shape[:] = sample or conf.image_conf.shape


def _plain_windows(conf: LayerProto, source: DataPath) -> tuple[int, str]:
    """The window of a layer of tokens, and the user_type that reads files without a header as it does."""
    if issubclass(layer_kind(conf), TextInput):
        return max(1, conf.text_conf.window), ARRAY_TOKENS
    if issubclass(layer_kind(conf), TokenInput):
        wide = conf.token_conf.element == TokenProto.UINT32
        return max(1, conf.token_conf.window), TOKENS_OF_4 if wide else TOKENS_OF_2
    hint = "save windows of tokens with numpy.save, as (rows, window)"
    raise ConfigError("--input", f"a .npy of rows, as {conf.name} draws its windows at random", str(source), hint)


def _become_array(conf: LayerProto, user_type: str, rows: StoreProto) -> None:
    """Turn ``conf`` into an input layer of ``rows``: of an array, or of plain elements if they have a shape."""
    for name in layer_kind(conf).confs:
        conf.ClearField(name)
    conf.ClearField("srclayers")
    conf.type = LayerType.kUserLayer
    conf.user_type = user_type
    conf.store_conf.CopyFrom(rows)


def _replace_path(conf: LayerProto, source: DataPath, path: str) -> None:
    """Replace the path of the layer's data by ``path``. Raises ConfigError if it has none."""
    for message, name in input_fields(conf, PATHS):
        value = getattr(message, name)
        if value:
            message.ClearField(name)
            setattr(message, name, path) if isinstance(value, str) else getattr(message, name).append(path)
            return
    expected = f"a .npy of rows, as {conf.name} ({type_name(conf)}) reads no file"
    raise ConfigError("--input", expected, str(source), "save the rows with numpy.save")


def input_fields(conf: LayerProto, names: tuple[str, ...]) -> list[tuple[Any, str]]:
    """(message, field) of the fields ``names`` in the confs that the layer's type reads."""
    set_confs = [getattr(conf, name) for name in layer_kind(conf).confs if conf.HasField(name)]
    return [(each, name) for each in set_confs for name in names if name in each.DESCRIPTOR.fields_by_name]
