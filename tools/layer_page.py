"""The sections of docs/layers.md: the comments, confs, costs and cuts of each type, as Markdown."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto

from netpart.layers import layer_class
from netpart.layers.layer import Layer
from netpart.proto.job_pb2 import LayerProto
from netpart.spec import RECORD, Region, Shape, Spec, size, whole_region
from tools.layer_drawing import cut_name, parts
from tools.layer_examples import GROUPS, Example, source_names

HEAD = """# Layers

Every layer type: what it computes, its conf, its parameters, and what a part of it needs from its sources when it is
cut. This page is generated from the types: `make layers-page` writes it, and a test checks that it is up to date.
[The language](language.md) describes how to write a job, [partitioning](partition.md) what netpart inserts between
parts, and [writing a layer](writing-a-layer.md) how to add a type of your own.

**How to read it.** y is the output and x the source (x0, x1, ... if there are several); batch comes first in every
shape. Each table cuts the example in two and shows what the *first* part computes and what it needs for that, in
Python's slices: `x[:, 0:7]` is all of axis 0 and elements 0 to 6 of axis 1. A cut on the *inputs* makes addends, each
the sum over a region of the inputs. FLOPs are those of one forward and one backward pass with all gradients. Drawings
show one of the cuts, if possible one in which a tensor is sent. Ellipses are the helpers that netpart inserts; thick
arrows are the bridges between workers, with the bytes of their values. Gradients return the same way.

Every layer may also be whole (`partition_dim: -1`) or be copied (`cut { over: REPLICA }`): a copy needs what the
whole needs. Weights and biases are `param` blocks, in the order of the shapes given here.
"""

CONF = re.compile(r"\bk[A-Z]\w*")
PACKAGE = "netpart"
WIDTH = 120


def section(name: str, shown: Example | None, layer: Layer | None, comments: dict[str, str], drawn: bool) -> str:
    """The section of the type ``name`` with its example; ``comments`` are those of proto/."""
    types = layer_class(name).types
    title = [f"### {' '.join(types)}\n"]
    about = described(name, comments) + "".join(
        f" `{other}`: {comment(other, comments)}." for other in types if other != name
    )
    nothing = "Its shapes are those of its file.\n" if layer_class(name).is_input else "No conf may have it.\n"
    figures = [*exampled(shown, layer)] if shown and layer else [nothing]
    image = [f"![{name}, cut over two workers](images/layers/{name}.svg)\n"] if drawn else []
    return "\n".join([*title, filled(about), *confs(name, comments), *figures, *image])


def filled(text: str) -> str:
    """A paragraph in lines."""
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False) + "\n"


def comment(name: str, comments: dict[str, str]) -> str:
    """The comment of proto/ on a value of LayerType."""
    return comments.get(f"{PACKAGE}.LayerType.{name}", "")


def described(name: str, comments: dict[str, str]) -> str:
    """The comment of the type, then the docstring of its class."""
    first, text = comment(name, comments), " ".join((inspect.getdoc(layer_class(name)) or "").split())
    text = text.replace("``", "`").replace(" - ", " − ").replace(" * ", " · ")
    return text if text.lower().startswith(first.lower()) else f"{first[:1].upper()}{first[1:]}. {text}"


def confs_of(name: str, comments: dict[str, str]) -> list[str]:
    """The LayerProto fields whose comments name the type, or another name of its class."""
    types = {name, *layer_class(name).types}
    fields = [field.name for field in LayerProto.DESCRIPTOR.fields if field.name.endswith("_conf")]
    return [field for field in fields if types & set(CONF.findall(comments.get(f"{PACKAGE}.LayerProto.{field}", "")))]


def confs(name: str, comments: dict[str, str]) -> Iterator[str]:
    """A table of fields for each conf of the type; a later type refers to the first that has it."""
    shown = [other for types in GROUPS.values() for other in types]
    for conf in confs_of(name, comments):
        first = next(other for other in shown if conf in confs_of(other, comments))
        if first != name:
            yield f"`{conf}`: as of [{first}](#{anchor(first)}).\n"
            continue
        yield f"| `{conf}` | default | meaning |\n|---|---|---|"
        message: Any = LayerProto.DESCRIPTOR.fields_by_name[conf].message_type
        yield "\n".join(row(message, field, comments) for field in message.fields) + "\n"


def anchor(name: str) -> str:
    """The anchor of the section of a type."""
    return "-".join(layer_class(name).types).lower()


def row(message: Descriptor, field: FieldDescriptor, comments: dict[str, str]) -> str:
    """One field of a conf: its name, default and comment, and the meaning of the values of an enum."""
    meaning = comments.get(field.full_name, "")
    if field.enum_type:
        enum = field.enum_type
        each = (f"{value.name}: {comments.get(f'{enum.full_name}.{value.name}', '')}" for value in enum.values)
        meaning = f"{meaning}. {'; '.join(each)}"
    return f"| `{field.name}` | {default(message, field)} | {meaning.replace('|', '¦')} |"


def default(message: Descriptor, field: FieldDescriptor) -> str:
    """The default of a field as a job would write it."""
    if not field.has_default_value:
        return labelled(message, field)
    if field.enum_type:
        return str(field.enum_type.values_by_number[field.default_value].name)
    value = field.default_value
    return (
        str(value).lower()
        if isinstance(value, bool)
        else f"{value:g}"
        if isinstance(value, float)
        else str(value) or "–"
    )


def labelled(message: Descriptor, field: FieldDescriptor) -> str:
    """The text for a field without a default."""
    copy = DescriptorProto()
    message.CopyToProto(copy)
    label = next(f.label for f in copy.field if f.name == field.name)
    words = {FieldDescriptorProto.LABEL_REQUIRED: "required", FieldDescriptorProto.LABEL_REPEATED: "a list"}
    return words.get(label, "–")


def exampled(shown: Example, layer: Layer) -> Iterator[str]:
    """The example: its shapes and parameters, then a table of its cuts."""
    conf = shown.conf.replace("param { }", "").strip()
    names = source_names(layer.inputs)
    given = ", ".join(f"{n} {spec_text(s)}" for n, s in zip(names, layer.inputs, strict=True))
    outputs = ", ".join(f"{n} {spec_text(s)}" for n, s in zip(output_names(layer), layer.outputs, strict=True))
    arrow = f"{given} → {outputs}" if given else outputs
    params = ", ".join(f"{p.key} {shape_text(p.shape)}" for p in layer.params)
    yield filled(f"Example: {f'`{conf}`: ' if conf else ''}{arrow}{f'; parameters {params}' if params else ''}.")
    yield cuts_table(layer)


def output_names(layer: Layer) -> list[str]:
    """``y``, or the names of the outputs of an input layer."""
    return ["y"] if len(layer.outputs) == 1 else list(layer.output_names[: len(layer.outputs)])


def spec_text(spec: Spec) -> str:
    """``(8, 12)``, with the kind of the elements if they are not numbers."""
    return (
        f"of {spec.rows} records" if spec.dtype == RECORD else shape_text(spec.shape) + (" int" * (spec.dtype == "int"))
    )


def shape_text(shape: Shape) -> str:
    """``(8, 12)``; of one axis ``(8)``."""
    return f"({', '.join(map(str, shape))})"


def cuts_table(layer: Layer) -> str:
    """Needs and costs of the whole layer and the first part of each cut; empty if it can be neither cut nor priced."""
    read = [*source_names(layer.inputs)][: len(layer.inputs)] + [p.key for p in layer.params]
    if not layer.cuts():
        return "It cannot be cut.\n"
    head = ["cut", "computes", *read, "FLOPs forward", "backward"]
    rows = [cells(layer, "whole", layer.output.whole, None)]
    for axis in layer.cuts():
        first = parts(layer, axis)[0]
        rows.append(cells(layer, cut_name(layer, axis), first.region, first.term))
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def cells(layer: Layer, cut: str, region: Region, term: Region | None) -> list[str]:
    """One row of the table."""
    needs, cost = layer.needs(region, term), layer.cost(region, term)
    shapes = [*(spec.shape for spec in layer.inputs), *(p.shape for p in layer.params)]
    names = [*source_names(layer.inputs), *(p.key for p in layer.params)]
    boxes = zip_longest([*needs.inputs, *needs.params], shapes, names[: len(shapes)])
    computed = "an addend of y" if term is not None else box_text(region, layer.output.shape, "y", "y")
    read = [box_text(box, shape or (), name or "", "all") for box, shape, name in boxes]
    return [cut, computed, *read, f"{cost.forward:,}", f"{cost.backward:,}"]


def box_text(box: Region | None, shape: Shape, name: str, everything: str) -> str:
    """A region as slices, without the trailing axes that are whole."""
    if box is None or not size(box):
        return "nothing"
    if box == whole_region(shape):
        return everything
    slices = [":" if span == (0, n) else f"{span[0]}:{span[1]}" for span, n in zip(box, shape, strict=True)]
    while slices[-1] == ":":
        slices.pop()
    return f"`{name}[{', '.join(slices)}]`"
