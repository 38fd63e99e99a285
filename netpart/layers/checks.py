"""Checks of a layer's conf and sources that many types share; every error names the layer and the next step."""

from __future__ import annotations

from google.protobuf.message import Message

from netpart.errors import ConfigError
from netpart.layers.layer import Layer
from netpart.proto.fields import field_meaning, message_fields
from netpart.spec import FLOAT, INT, Spec


def fault(layer: Layer, expected: str, got: str, hint: str = "", *at: str | int) -> ConfigError:
    """Return a ConfigError about a layer; ``at`` is the field's path below its LayerProto."""
    return ConfigError(layer.name, expected, got, hint, at=at)


def require_conf(layer: Layer, field: str, example: str) -> None:
    """Raise ConfigError unless the layer has its conf ``field``; ``example`` is the text that the hint shows in it."""
    if not layer.conf.HasField(field):
        article = "an" if field[0] in "aeiou" else "a"
        raise fault(layer, f"{article} {field}", "none", f"add {field} {{ {example} }}")


def check_sources(layer: Layer, *meanings: str) -> tuple[Spec, ...]:
    """Return the specs of the layer's sources, one per meaning; raise ConfigError if there are more or fewer."""
    if len(layer.inputs) == len(meanings):
        return layer.inputs
    wanted = f"{len(meanings)} source{'s' * (len(meanings) != 1)}"
    listed = f" ({', '.join(meanings)})" if meanings else ""
    raise fault(layer, wanted + listed, str(len(layer.inputs)), "correct its srclayers", "srclayers")


def float_source(layer: Layer, k: int = 0, least: int = 2) -> Spec:
    """Return the spec of source ``k``; raise ConfigError unless it holds floats on ``least`` axes or more."""
    spec = layer.inputs[k]
    if spec.dtype != FLOAT:
        hint = "put a layer that parses them in between"
        raise fault(layer, f"numbers from source {k}", f"{spec.dtype}s", hint, "srclayers", k)
    if spec.rank < least:
        raise fault(layer, f"a source of {least} axes or more (batch first)", str(spec.shape), "", "srclayers", k)
    return spec


def one_source(layer: Layer, least: int = 2) -> Spec:
    """Return the spec of the only source; raise ConfigError as ``check_sources`` and ``float_source`` do."""
    check_sources(layer, "the input")
    return float_source(layer, 0, least)


def label_axes(layer: Layer, k: int, prediction: Spec) -> int:
    """Return how many leading axes source ``k``, the labels, have in common with ``prediction``.

    Raises ConfigError unless the labels are ints whose shape is a proper prefix of the prediction's shape.
    """
    spec = layer.inputs[k]
    if spec.dtype != INT or not 0 < spec.rank < prediction.rank or spec.shape != prediction.shape[: spec.rank]:
        came = f"{spec.dtype} {spec.shape}"
        rows = prediction.shape[0]
        raise fault(layer, f"{rows} int labels from source {k}", came, "name the input layer here", "srclayers", k)
    return spec.rank


def at_least(layer: Layer, low: int, value: int, *at: str) -> int:
    """Return ``value``; raise ConfigError, with the field's comment as a hint, unless it is ``low`` or more.

    ``at`` is the path of the field below the LayerProto.
    """
    if value < low:
        block: Message = layer.conf
        for name in at[:-1]:
            block = getattr(block, name)
        text = field_meaning(message_fields(block)[at[-1]])
        raise fault(layer, f"{at[-1]} of {low} or more", str(value), f"{at[-1]} is: {text}" if text else "", *at)
    return value
