"""The same net written three times: flat, with blocks in its text, and by a program with the builder."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from google.protobuf import text_format
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from hypothesis import strategies as st

from netpart.builder.layer_list import LayerHandle
from netpart.builder.nested_layers import NestedLayers
from netpart.builder.net_builder import NetBuilder
from netpart.layers import layer_class
from netpart.proto.fields import is_repeated
from netpart.proto.job_pb2 import BlockUseProto, JobProto, LayerBlockProto, LayerProto, LayerType, NetProto
from tests.laws.sections import Items, Section, SectionedNet, local_names

FIRST = 900_001
"""The first of the numbers that stand for placeholders until the text is written: no random net has them."""


def flat_job(net: SectionedNet) -> JobProto:
    """The job with every instance of every section written out."""
    job = JobProto()
    job.CopyFrom(net.job)
    job.neuralnet.layer.extend(flat_layers(net.items, "", {}))
    return job


def flat_layers(items: Items, prefix: str, names: dict[str, str]) -> Iterator[LayerProto]:
    """``items`` written out, with ``prefix`` before their names.

    ``names`` has what the drawn names of layers and parameters before them stand for, and gets theirs.
    """
    for item in items:
        if isinstance(item, Section):
            inside, sources = names, [names[source] for source in item.inputs]
            for instance in item.instances:
                inside = {**names, **dict(zip(item.inputs, sources, strict=True))}
                yield from flat_layers(item.items, f"{prefix}{instance}-", inside)
                sources[: len(item.outputs)] = [inside[name] for name in item.outputs]
            names |= {name: inside[name] for name in local_names(item.items)}
        else:
            names |= {name: prefix + name for name in local_names([item])}
            layer = renamed(item, names)
            layer.name = prefix + item.name
            for param in layer.param:
                param.name = prefix + param.name if param.name else ""
            yield without_empty_names(layer)


def renamed(item: LayerProto, names: Mapping[str, str]) -> LayerProto:
    """A copy of a layer that calls what it reads and shares by ``names``."""
    layer = LayerProto()
    layer.CopyFrom(item)
    layer.srclayers[:] = [names[source] for source in item.srclayers]
    for param in layer.param:
        if param.share_from:
            param.share_from = names[param.share_from]
    return layer


def without_empty_names(layer: LayerProto) -> LayerProto:
    """``layer``, of which parameters without a name have none, not an empty one."""
    for param in layer.param:
        if not param.name:
            param.ClearField("name")
    return layer


def text_with_blocks(net: SectionedNet, draw: st.DrawFn) -> str:
    """The job as text, each section a block, with values with names in place of some numbers."""
    job = JobProto()
    job.CopyFrom(net.job)
    names = local_names(net.items)
    job.neuralnet.layer.extend(body_layers(net.items, names, names, job.neuralnet))
    return text_with_values(job, draw)


def body_layers(
    items: Items, names: Mapping[str, str], net_names: Mapping[str, str], net: NetProto
) -> Iterator[LayerProto]:
    """The layers of the net or of a block, in which ``names`` are known; sections become blocks of ``net``."""
    for item in items:
        if not isinstance(item, Section):
            yield renamed(item, names)
            continue
        local, inputs = local_names(item.items), {name: f"in{k}" for k, name in enumerate(item.inputs)}
        block = LayerBlockProto(name=f"block {item.name}", input=inputs.values())
        block.output.extend(local[name] for name in item.outputs)
        block.layer.extend(body_layers(item.items, {**net_names, **inputs, **local}, net_names, net))
        net.block.append(block)
        use = LayerProto(name=item.name, type=LayerType.kBlock, srclayers=[names[name] for name in item.inputs])
        use.block_conf.of = block.name
        if item.times > 1:
            use.block_conf.times = item.times
        yield use


def text_with_values(job: JobProto, draw: st.DrawFn) -> str:
    """The text of ``job`` with placeholders in place of some numbers, whose values are those of a net or a block."""
    net, values = job.neuralnet, list[int]()
    owners: list[NetProto | LayerBlockProto] = [net, *net.block]
    for owner in owners:
        for conf, name in (number for layer in owner.layer for number in whole_numbers(layer)):
            way = draw(st.sampled_from([None, net, owner, *uses_of(owner, net)]))
            if way is not None:
                values.append(getattr(conf, name))
                setattr(conf, name, FIRST + len(values) - 1)
                declare(owner, way, f"v{len(values)}", str(values[-1]))
    text = text_format.MessageToString(job)
    for k in range(len(values)):
        text = text.replace(str(FIRST + k), f"${{v{k + 1}}}")
    return text


def whole_numbers(layer: LayerProto) -> Iterator[tuple[Any, str]]:
    """The numbers in the confs of ``layer`` in whose place a placeholder may stand: the block and the field of each."""
    for known, conf in layer.ListFields():
        if known.name.endswith("_conf") and known.name != "block_conf":
            yield from (
                (conf, each.name) for each, value in conf.ListFields() if type(value) is int and not each.enum_type
            )


def uses_of(owner: NetProto | LayerBlockProto, net: NetProto) -> list[BlockUseProto]:
    """What repeats the block ``owner``."""
    layers = [*net.layer, *(layer for block in net.block for layer in block.layer)]
    name = owner.name if isinstance(owner, LayerBlockProto) else ""
    return [layer.block_conf for layer in layers if layer.HasField("block_conf") and layer.block_conf.of == name]


def declare(owner: Any, way: Any, name: str, value: str) -> None:
    """Let ``way`` give ``value`` a name; a block that takes it from its use declares it with another."""
    way.let.add(name=name, value=value)
    if isinstance(way, BlockUseProto):
        owner.let.add(name=name, value="0")


def built_net(net: SectionedNet) -> NetBuilder:
    """The program that builds the job, each section by a function that is used or repeated."""
    made, names = NetBuilder(**field_values(net.job)), local_names(net.items)
    add_items(made, net.items, names, names, {})
    return made


def add_items(
    made: NestedLayers, items: Items, names: Mapping[str, str], net_names: Mapping[str, str],
    handles: dict[str, LayerHandle],
) -> None:  # fmt: skip
    """Add ``items`` to a net or a block, in which parameters are called by ``names``.

    ``handles`` are those of what was added before, by the drawn names, and get those of ``items``.
    """
    for item in items:
        if isinstance(item, Section):
            add = made.use if item.times == 1 else partial(made.repeat, item.times)
            sources = [handles[name] for name in item.inputs]
            found = add(block_function(item, net_names), *sources, name=item.name, of=f"block {item.name}")
            handles |= zip(item.outputs, found if isinstance(found, tuple) else [found], strict=True)
        else:
            handles[item.name] = add_layer(made, item, names, handles)


def block_function(section: Section, net_names: Mapping[str, str]) -> Callable[..., tuple[LayerHandle, ...]]:
    """The function that adds the layers of ``section``, with an argument for each input."""

    def block(inside: NestedLayers, *inputs: LayerHandle) -> tuple[LayerHandle, ...]:
        handles = dict(zip(section.inputs, inputs, strict=True))
        add_items(inside, section.items, {**net_names, **local_names(section.items)}, net_names, handles)
        return tuple(handles[name] for name in section.outputs)

    names = ["inside", *(f"in{k}" for k in range(len(section.inputs)))]
    parameters = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_ONLY) for name in names]
    block.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return block


def add_layer(
    made: NestedLayers, item: LayerProto, names: Mapping[str, str], handles: Mapping[str, LayerHandle]
) -> LayerHandle:
    """Add one layer as a program does: the fields of the first conf of its type by their own names."""
    values = field_values(item)
    kind, sources, parameters = values.pop("type"), values.pop("srclayers", []), values.pop("param", [])
    for parameter in parameters:
        if "share_from" in parameter:
            parameter["share_from"] = names[parameter["share_from"]]
    first = next(iter(layer_class(kind).confs), "")
    values |= values.pop(first) if values.get(first) else {}
    return made.add_layer(kind, *(handles[source] for source in sources), params=parameters, **values)


def field_values(message: Message) -> dict[str, Any]:
    """The fields that are set, as Python has them: blocks are mappings, and values of enums are names."""
    return {
        field.name: [plain_value(field, each) for each in value] if is_repeated(field) else plain_value(field, value)
        for field, value in message.ListFields()
    }


def plain_value(field: FieldDescriptor, value: Any) -> Any:
    """One value of a field."""
    if field.message_type:
        return field_values(value)
    return field.enum_type.values_by_number[value].name if field.enum_type else value
