"""The order in which a person writes the fields of a job, for a text that nobody has written yet."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from google.protobuf.descriptor import Descriptor
from google.protobuf.message import Message

from netpart.errors import FieldPath, Position
from netpart.proto.fields import is_repeated, message_descriptor
from netpart.proto.job_pb2 import JobProto
from netpart.proto.writer import HEAD

FIRST = {"JobProto": ("name", "train_steps"), "LayerProto": HEAD}
LAST = {
    "JobProto": ("updater", "neuralnet", "cluster"), "NetProto": ("let", "block", "layer"), "LayerProto": ("param",),
}  # fmt: skip
"""Fields at the beginning and at the end of a block; the others are in the order of proto/."""


def person_positions(proto: JobProto) -> dict[FieldPath, Position]:
    """A position for each field of ``proto``, of which only the order among the fields of one block counts."""
    return dict(_block_positions(proto, ()))


def _block_positions(message: Message, path: FieldPath) -> Iterator[tuple[FieldPath, Position]]:
    """The paths and positions of the fields of a block and of all blocks in it."""
    order = _field_order(message_descriptor(message))
    for field, value in message.ListFields():
        blocks = is_repeated(field) and field.message_type
        for index, each in enumerate(value if blocks else [value]):
            here = (*path, field.name, index) if blocks else (*path, field.name)
            yield here, Position("", order[field.name], index + 1)
            if isinstance(each, Message):
                yield from _block_positions(each, here)


@cache
def _field_order(block: Descriptor) -> dict[str, int]:
    """The place of each field among those of its block."""
    first, last = FIRST.get(block.name, ()), LAST.get(block.name, ())
    middle = [field.name for field in block.fields if field.name not in (*first, *last)]
    return {name: place for place, name in enumerate((*first, *middle, *last), start=1)}
