"""What a layer kBlock says: its block, the instances that it makes, and the values in them."""

from __future__ import annotations

from collections.abc import Iterator

from netpart.proto.blocks.body import Body, UseItem
from netpart.proto.blocks.library import BlockDefinition, Library, check_value_name
from netpart.proto.blocks.template import Template
from netpart.proto.fields import nearest_hint
from netpart.proto.job_pb2 import LayerProto, LayerType

OF_KBLOCK = {"name", "type", "srclayers", "block_conf"}
"""The fields that a layer kBlock may have."""


def used_block(template: Template[LayerProto], layer: LayerProto, library: Library, body: Body) -> BlockDefinition:
    """The block that a layer kBlock uses. Raises ConfigError for fields that do not go together."""
    if layer.type != LayerType.kBlock:
        raise template.error(("block_conf",), "type: kBlock", LayerType.Name(layer.type), "", body.instance)
    wrong = [known.name for known, _ in layer.ListFields() if known.name not in OF_KBLOCK]
    if wrong:
        hint = f'set it in the layers: block_conf {{ change {{ name: "{layer.name}*" ... }} }}'
        raise template.error((wrong[0],), "a field of kBlock", wrong[0], hint, body.instance)
    return library.block(layer.block_conf.of, template, body.instance)


def instance_names(use: UseItem) -> Iterator[str]:
    """The names of the instances in the net. Raises ConfigError if ``times`` or ``first`` is out of range."""
    conf = use.layer.block_conf
    if not conf.HasField("times"):
        yield use.name
        return
    for name, value in (("times", conf.times), ("first", conf.first)):
        if value < 0:
            raise use.template.error(("block_conf", name), "0 or more", str(value), "count the instances")
    yield from (f"{use.name}{number}" for number in range(conf.first, conf.first + conf.times))


def use_values(body: Body, use: UseItem) -> dict[str, str]:
    """The values in the instances of ``use``: given by it, else those that hold in ``body``, else the defaults."""
    given = _given_values(body, use)
    values = {**body.values, **given}
    for k, let in enumerate(use.definition.message.let):
        check_value_name(use.definition.template, ("let", k), let)
        if let.name in values:
            continue
        if not let.HasField("value"):
            hint = f'add let {{ name: "{let.name}" value: "..." }} to its block_conf'
            raise use.template.error(("block_conf",), f"a value of {let.name}", "none", hint, body.instance)
        text = use.definition.template.fill_text(let.value, values, ("let", k, "value"), body.instance)
        values[let.name] = text
    return values


def _given_values(body: Body, use: UseItem) -> dict[str, str]:
    """The values that a layer kBlock gives. Raises ConfigError for one that its block does not take."""
    taken = [let.name for let in use.definition.message.let]
    given: dict[str, str] = {}
    for k, let in enumerate(use.layer.block_conf.let):
        if let.name not in taken:
            expected = f"a value that block {use.definition.message.name} takes"
            hint = nearest_hint(let.name, taken) or "it has no let of this name"
            raise use.template.error(("block_conf", "let", k), expected, repr(let.name), hint, body.instance)
        given[let.name] = let.value
    return given
