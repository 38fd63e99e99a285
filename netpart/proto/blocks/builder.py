"""Builder of bodies: fills the layers of the net and of all instances of blocks, within the limits of a net."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from netpart.proto.blocks.body import Body, LayerItem, Outputs, UseItem, unknown_name
from netpart.proto.blocks.library import INSTANCE, BlockDefinition, Library
from netpart.proto.blocks.template import Template, Values
from netpart.proto.blocks.use_conf import instance_names, use_values, used_block
from netpart.proto.job_pb2 import LayerProto, LayerType
from netpart.proto.limits import BLOCK_DEPTH, EXPANDED_BYTES, EXPANDED_LAYERS


class BodyBuilder:
    """Builds bodies within the limits of a net: its layers, their bytes, and instances within one another."""

    def __init__(self) -> None:
        self.layers = 0
        self.bytes = 0
        self.instances = 0

    def net_body(self, library: Library) -> Body:
        """The layers of the net itself."""
        source = library.source
        layers = [
            Template(source, ("neuralnet", "layer", k), layer) for k, layer in enumerate(source.proto.neuralnet.layer)
        ]
        body = Body("", "", library.values)
        self._add_items(body, layers, library, ())
        return body

    def _add_items(
        self, body: Body, layers: Sequence[Template[LayerProto]], library: Library, within: tuple[BlockDefinition, ...]
    ) -> None:
        """Add the layers to ``body``, which is in instances of the blocks ``within``."""
        for template in layers:
            layer = template.fill(body.values, body.instance)
            self._count_layer(template, layer, body)
            name = body.full_name(layer.name, template.message.name)
            if layer.type == LayerType.kBlock or layer.HasField("block_conf"):
                self._add_use(body, UseItem(template, layer, name, used_block(template, layer, library, body)), within)
            else:
                body.items.append(LayerItem(template, layer, name))
                body.add_member(layer.name, name, template)

    def _add_use(self, body: Body, use: UseItem, within: tuple[BlockDefinition, ...]) -> None:
        """Add the instances that ``use`` makes, and the names by which they are read."""
        self._check_depth(body, use, within)
        values = use_values(body, use)
        body.items.append(use)
        for name in instance_names(use):
            made = self._instance(name, values, use.definition, (*within, use.definition))
            self._count_instance(use, body)
            use.bodies.append(made)
            if name not in made.outputs:  # a layer named ${instance} has that name itself
                body.add_member(body.local_name(name), Outputs(made.outputs), use.template)
            for written, output in made.output_names.items():
                body.add_member(body.local_name(written), output, use.template)
        if use.layer.block_conf.HasField("times") and use.bodies:
            body.add_member(use.layer.name, Outputs(use.bodies[-1].outputs), use.template)

    def _instance(
        self, name: str, values: Values, definition: BlockDefinition, within: tuple[BlockDefinition, ...]
    ) -> Body:
        """One instance of a block."""
        made = Body(name, f"{name}-", {**values, INSTANCE: name}, definition.message.input)
        self._add_items(made, definition.layers, definition.library, within)
        for k, input_name in enumerate(definition.message.input):
            if input_name in made.members:
                hint = "rename one of them"
                raise definition.template.error(("input", k), "a name that no layer has", repr(input_name), hint, name)
        made.outputs = tuple(_output_names(made, definition))
        return made

    def _count_layer(self, template: Template[LayerProto], layer: LayerProto, body: Body) -> None:
        """Count a layer of ``body``. Raises ConfigError if the net has too many, or too many bytes with their names."""
        self.layers += 1
        self.bytes += len(layer.SerializePartialToString()) + (1 + len(layer.srclayers)) * len(body.prefix)
        if self.layers > EXPANDED_LAYERS:
            raise template.error((), f"at most {EXPANDED_LAYERS} layers", "more", "repeat less", body.instance)
        if self.bytes > EXPANDED_BYTES:
            limit = f"at most {EXPANDED_BYTES >> 20} MiB of layers"
            raise template.error((), limit, "more", "repeat less", body.instance)

    def _count_instance(self, use: UseItem, body: Body) -> None:
        """Count an instance, which may have no layer. Raises ConfigError if the net has too many."""
        self.instances += 1
        if self.instances > EXPANDED_LAYERS:
            limit = f"at most {EXPANDED_LAYERS} instances of blocks"
            raise use.template.error(("block_conf", "times"), limit, "more", "repeat less", body.instance)

    def _check_depth(self, body: Body, use: UseItem, within: tuple[BlockDefinition, ...]) -> None:
        """Raise ConfigError for a block that uses itself, and for instances too deep within others."""
        at, limit = ("block_conf", "of"), f"at most {BLOCK_DEPTH} blocks within one another"
        if use.definition in within:
            names = [each.message.name for each in (*within[within.index(use.definition) :], use.definition)]
            hint = "a block cannot contain itself"
            raise use.template.error(at, "another block", " → ".join(names), hint, body.instance)
        if len(within) >= BLOCK_DEPTH:
            hint = "write the inner blocks out"
            raise use.template.error(at, limit, "more", hint, body.instance)


def _output_names(body: Body, definition: BlockDefinition) -> Iterator[str]:
    """The outputs of the instance ``body`` by their names in the net. Raises ConfigError for one that it lacks."""
    for k, written in enumerate(definition.message.output):
        name = definition.template.fill_text(written, body.values, ("output", k), body.instance)
        found = body.members.get(name)
        if found is None or (isinstance(found, Outputs) and len(found.names) != 1):
            raise unknown_name(body, definition.template, ("output", k), name, "a layer of the block")
        yield found if isinstance(found, str) else found.names[0]
