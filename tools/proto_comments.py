"""Comments of proto/*.proto on every message, field and value of an enum, as the compiler keeps them.

``make proto`` writes them to tools/proto_comments.json, so that reading them needs no compiler.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from google.protobuf.descriptor_pb2 import FileDescriptorSet

ROOT = Path(__file__).resolve().parent.parent
COMMENTS = "tools/proto_comments.json"


def known() -> dict[str, str]:
    """The comments that are committed: full name (``netpart.LRNProto.beta``) -> its comment as one line."""
    found: dict[str, str] = json.loads((ROOT / COMMENTS).read_text(encoding="utf-8"))
    return found


def comments(described: bytes) -> dict[str, str]:
    """The comments of a FileDescriptorSet with source information, as ``known`` has them."""
    return {name: text for file in FileDescriptorSet.FromString(described).file for name, text in of_file(file)}


def of_file(file: Any) -> Iterator[tuple[str, str]]:
    """Names and comments of one FileDescriptorProto. Of two comments, the trailing one counts: the
    other is the heading of a section."""
    for location in file.source_code_info.location:
        text = location.trailing_comments or location.leading_comments
        if text and location.path and len(location.path) % 2 == 0:
            yield f"{file.package}.{'.'.join(named(file, location.path))}", " ".join(text.split())


def named(node: Any, path: Any) -> Iterator[str]:
    """The names along a path of (field number, index) pairs from a descriptor downwards."""
    for number, index in zip(path[::2], path[1::2], strict=True):
        node = getattr(node, type(node).DESCRIPTOR.fields_by_number[number].name)[index]
        yield node.name
