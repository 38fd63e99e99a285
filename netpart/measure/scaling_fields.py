"""Scaling fields: the mean and the standard deviation of sampled values, as the fields of a job that subtract them."""

from __future__ import annotations

from collections.abc import Sequence

from netpart.layers.inputs.images import ImagesInput
from netpart.layers.layer import Layer
from netpart.measure.value_statistics import ChannelValues, ValueSummary
from netpart.spec import INT

SCALED = {"kRecordInput": "store_conf", "kCSVInput": "store_conf", "kArrayInput": "array_conf"}
"""Types with the fields mean_value and std_value, and the conf that has them."""


OF_COLUMNS = "kCSVInput", "kArrayInput"
"""Types whose columns are features, with a mean and a deviation each; their mean_file is easily written by hand."""


def suggest_scaling(layer: Layer, values: ValueSummary | None) -> dict[str, list[float]]:
    """Field -> its values, with which rows as the sampled ones get mean 0 and standard deviation 1.

    The scaling that the job has already is undone. Empty for layers without such fields, with files of them, for tokens
    and for values that are constant. Of a mean_file and a std_file it is their content, one value per column.
    """
    if values is None or layer.output.dtype == INT or not values.overall.std:
        return {}
    if isinstance(layer, ImagesInput):
        if any(not channel.std for channel in values.channels):
            return {}
        conf = layer.conf.image_conf
        return _fields("image_conf", ("mean", "std"), _unscaled(values.channels, [*conf.mean] or [0.0], [*conf.std]))
    field = next((SCALED[name] for name in layer.types if name in SCALED), "")
    if not field:
        return {}
    store = getattr(layer.conf, field)
    if store.mean_file or store.std_file:
        return {}
    mean, std = [store.mean_value], [store.std_value or 1.0]
    if len(layer.output.shape) == 2 and len(values.channels) > 1 and layer.types[0] in OF_COLUMNS:
        return _fields(field, ("mean_file", "std_file"), _unscaled(values.channels, mean, std))
    unscaled = _unscaled([values.overall], mean, std)
    return _fields(field, ("mean_value", "std_value"), unscaled)


def _unscaled(
    channels: Sequence[ChannelValues], mean: Sequence[float], std: Sequence[float]
) -> tuple[list[float], list[float]]:
    """Means and deviations before (x - ``mean``) / ``std``, of which there is one for each channel or for all."""
    over = [(std or [1.0])[k % len(std or [1.0])] for k in range(len(channels))]
    added = [mean[k % len(mean)] for k in range(len(channels))]
    means = [(channel.mean or 0.0) * s + m for channel, s, m in zip(channels, over, added, strict=True)]
    return means, [(channel.std or 1.0) * s for channel, s in zip(channels, over, strict=True)]


def _fields(conf: str, names: tuple[str, str], values: tuple[list[float], list[float]]) -> dict[str, list[float]]:
    """The values by the paths of their fields, with the digits that a sample justifies."""
    found = zip(names, values, strict=True)
    return {f"{conf}.{name}": [float(f"{value:.4g}") for value in each] for name, each in found}
