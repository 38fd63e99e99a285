"""Checks of a layer's conf and sources that many types share; every error names the layer and the next step."""

from __future__ import annotations

from math import prod

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
        wanted = f"{prediction.shape[0]} int labels from {_source_text(layer, k)}"
        scores = f"the scores {prediction.shape} of {_source_text(layer, 0)}"
        hint = _label_hint(spec, prediction)
        raise fault(layer, f"{wanted} for {scores}", f"{spec.dtype} {spec.shape}", hint, "srclayers", k)
    return spec.rank


def _source_text(layer: Layer, k: int) -> str:
    """Source ``k`` in errors, with its name if the job names one."""
    names = layer.conf.srclayers
    return f"source {k} ({names[k]})" if k < len(names) else f"source {k}"


def _label_hint(label: Spec, prediction: Spec) -> str:
    """The next step for labels that do not fit the scores ``prediction``."""
    if label.dtype != INT:
        return "name the input layer here"
    rows, *places = label.shape
    if places and tuple(places) == prediction.shape[1:]:
        return "a number per class is no label: save y.argmax(axis=-1), the number of the class"
    if len(places) == 1 and prediction.rank > 2 and prod(prediction.shape[2:]) == places[0]:
        flat = f"kReshape with reshape_conf {{ shape: [{prediction.shape[1]}, {places[0]}] }} and then "
        order = "kTranspose with transpose_conf { axis: [2, 1] }"
        return f"classes come last, not first: put {flat * (prediction.rank > 3)}{order} between them"
    if rows != prediction.shape[0]:
        return "name sources of the same rows"
    return "the scores need an axis of classes after the axes of the labels"


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
