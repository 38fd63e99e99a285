"""What proto/*.proto says about every message, field and value of an enum: the compiler keeps their comments."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from google.protobuf.descriptor_pb2 import FileDescriptorSet

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "netpart/proto"


def comments(root: Path = ROOT) -> dict[str, str]:
    """Full name (``netpart.LRNProto.beta``, ``netpart.LayerType.kReLU``) -> its comment as one line.

    Needs grpcio-tools, of any version: raises CalledProcessError without it.
    """
    sources = [f"{PACKAGE}/{path.name}" for path in sorted((root / "proto").glob("*.proto"))]
    with TemporaryDirectory() as target:
        made = Path(target) / "all.pb"
        flags = [f"-I{PACKAGE}=proto", "--include_source_info", f"--descriptor_set_out={made}"]
        subprocess.run([sys.executable, "-m", "grpc_tools.protoc", *flags, *sources], cwd=root, check=True)
        files = FileDescriptorSet.FromString(made.read_bytes()).file
    return {name: text for file in files for name, text in of_file(file)}


def of_file(file: Any) -> Iterator[tuple[str, str]]:
    """Names and comments of one FileDescriptorProto. Of two the one behind counts: the other is over a section."""
    for location in file.source_code_info.location:
        text = location.trailing_comments or location.leading_comments
        if text and location.path and len(location.path) % 2 == 0:
            yield f"{file.package}.{'.'.join(named(file, location.path))}", " ".join(text.split())


def named(node: Any, path: Any) -> Iterator[str]:
    """The names along a path of (field number, index) pairs from a descriptor downwards."""
    for number, index in zip(path[::2], path[1::2], strict=True):
        node = getattr(node, type(node).DESCRIPTOR.fields_by_number[number].name)[index]
        yield node.name
