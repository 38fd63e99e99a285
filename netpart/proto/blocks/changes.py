"""Changes: the fields that a layer kBlock sets in some of the layers of its instances."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from netpart.errors import FieldPath
from netpart.proto.blocks.body import Body, UseItem
from netpart.proto.blocks.origin import ExpandedLayer
from netpart.proto.blocks.template import Template
from netpart.proto.fields import is_repeated, nearest_hint
from netpart.proto.job_pb2 import LayerProto
from netpart.proto.name_patterns import matching_names

NOT_CHANGED = ("name", "type", "srclayers", "block_conf")
"""The fields that a change cannot set."""


def changed_layers(body: Body, use: UseItem, layers: list[ExpandedLayer]) -> Iterator[ExpandedLayer]:
    """``layers`` of the instances of ``use`` after its changes. Raises ConfigError for one that changes nothing."""
    names = [body.local_name(each.layer.name) for each in layers]
    for k, change in enumerate(use.layer.block_conf.change):
        at = ("block_conf", "change", k)
        _check_change(body, use, at, change)
        chosen = set(matching_names(change.name, names))
        if not chosen:
            hint = nearest_hint(change.name, names)
            raise use.template.error((*at, "name"), "names of layers", repr(change.name), hint, body.instance)
        for n, name in enumerate(names):
            if name in chosen:
                layers[n] = _changed_layer(layers[n], use.template, at, change)
    yield from layers


def _check_change(body: Body, use: UseItem, at: FieldPath, change: LayerProto) -> None:
    """Raise ConfigError for a change of a field that says which layer it is, or what it reads."""
    for name in NOT_CHANGED[1:]:
        if name in [known.name for known, _ in change.ListFields()]:
            raise use.template.error((*at, name), "a field that may differ", name, "use another block", body.instance)


def _changed_layer(
    found: ExpandedLayer, template: Template[LayerProto], at: FieldPath, change: LayerProto
) -> ExpandedLayer:
    """The layer after ``change``, which is written at ``at`` of ``template``."""
    _set_fields(found.layer, change)
    changed = {known.name: (template, at) for known, _ in change.ListFields() if known.name != "name"}
    return ExpandedLayer(found.layer, replace(found.origin, changes={**found.origin.changes, **changed}))


def _set_fields(target: Any, change: Any) -> None:
    """Set the fields of ``change``, except its name, in ``target``: lists as a whole, blocks field by field."""
    for known, value in change.ListFields():
        if is_repeated(known):
            target.ClearField(known.name)
            getattr(target, known.name).extend(value)
        elif known.message_type:
            getattr(target, known.name).SetInParent()
            _set_fields(getattr(target, known.name), value)
        elif (known.name, type(change)) != ("name", LayerProto):
            setattr(target, known.name, value)
