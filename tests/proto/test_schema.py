"""The schema contains SINGA v0.3's, leaves users and netpart their numbers, and explains every field."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool
from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor

from netpart.proto import job_pb2, singa_pb2

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data"
TYPES = {
    FieldDescriptor.TYPE_INT32: "int32",
    FieldDescriptor.TYPE_UINT32: "uint32",
    FieldDescriptor.TYPE_FLOAT: "float",
    FieldDescriptor.TYPE_DOUBLE: "float",
    FieldDescriptor.TYPE_BOOL: "bool",
    FieldDescriptor.TYPE_STRING: "string",
    FieldDescriptor.TYPE_BYTES: "bytes",
}
WIRE = {"control.proto", "plan.proto"}
"""What workers and their coordinator tell each other; everything else is the language."""
LANGUAGE = sorted(path for path in (ROOT / "proto").glob("*.proto") if path.name not in WIRE)
FILES = [descriptor_pool.Default().FindFileByName(f"netpart/proto/{path.name}") for path in LANGUAGE]


def table(name: str) -> list[dict[str, str]]:
    with (DATA / name).open(newline="") as file:
        return list(csv.DictReader(file))


def messages() -> dict[str, Descriptor]:
    return {m.name: m for file in FILES for m in file.message_types_by_name.values()}


def enums() -> Iterator[EnumDescriptor]:
    for file in FILES:
        yield from file.enum_types_by_name.values()
        for message in file.message_types_by_name.values():
            yield from message.enum_types


def type_name(field: FieldDescriptor) -> str:
    named = field.message_type or field.enum_type
    return named.name if named else TYPES[field.type]


def label(message: Descriptor, field: str) -> str:
    copy = descriptor_pb2.DescriptorProto()
    message.CopyToProto(copy)
    number = next(f.label for f in copy.field if f.name == field)
    return descriptor_pb2.FieldDescriptorProto.Label.Name(number).removeprefix("LABEL_").lower()


def default(field: FieldDescriptor) -> object:
    if not field.has_default_value:
        return None
    return field.enum_type.values_by_number[field.default_value].name if field.enum_type else field.default_value


def parsed_default(row: dict[str, str]) -> object:
    text = row["default"]
    if text == "none":
        return None
    if row["type"] == "float":
        return pytest.approx(float(text), rel=1e-6)
    if row["type"] == "bool":
        return text == "true"
    return int(text) if row["type"] in ("int32", "uint32") else text


@pytest.mark.parametrize("row", table("singa_schema.csv"), ids=lambda row: f"{row['message']}.{row['field']}")
def test_every_field_of_singa_is_there(row: dict[str, str]) -> None:
    field = messages()[row["message"]].fields_by_name[row["field"]]
    relaxed = row["label"] == "required" and row["default"] != "none"
    assert field.number == int(row["number"])
    assert type_name(field) == row["type"]
    assert label(messages()[row["message"]], row["field"]) == ("optional" if relaxed else row["label"])
    assert default(field) == parsed_default(row)


@pytest.mark.parametrize("row", table("singa_enums.csv"), ids=lambda row: f"{row['enum']}.{row['name']}")
def test_every_enum_value_of_singa_is_there(row: dict[str, str]) -> None:
    known = {enum.name: enum for enum in enums()}
    assert known[row["enum"]].values_by_name[row["name"]].number == int(row["number"])


def test_netparts_own_fields_and_values_start_at_1101() -> None:
    theirs = {(row["message"], row["field"]) for row in table("singa_schema.csv")} | {("SingaProto", "log_dir")}
    singas = {message for message, _ in theirs}
    added = [
        f"{message.name}.{field.name}"
        for message in messages().values()
        if message.name in singas
        for field in message.fields
        if (message.name, field.name) not in theirs and field.number < 1101
    ]
    names = {row["name"] for row in table("singa_enums.csv")} | {"kSingleLabelImage"}
    extended = {row["enum"] for row in table("singa_enums.csv")}
    added += [
        v.name for e in enums() if e.name in extended for v in e.values if v.name not in names and v.number < 1101
    ]
    assert added == []


def test_users_have_their_numbers() -> None:
    assert messages()["LayerProto"].extension_ranges == [(1001, 1101)]
    for name in ("JobProto", "AlgProto", "NetProto", "UpdaterProto", "ClusterProto", "ParamProto", "LRGenProto"):
        assert messages()[name].extension_ranges == [(101, 201)], name


def test_record_bytes_are_singas() -> None:
    record = job_pb2.RecordProto(shape=[1, 2], label=3, pixel=b"\x07\x08", data=[1.0])
    assert record.SerializeToString() == b"\x08\x01\x08\x02\x10\x03\x1a\x02\x07\x08\x22\x04\x00\x00\x80\x3f"


def test_site_settings_keep_singas_default() -> None:
    assert singa_pb2.SingaProto().zookeeper_host == "localhost:2181"


@pytest.mark.parametrize("path", LANGUAGE, ids=lambda path: path.name)
def test_every_field_and_value_is_explained(path: Path) -> None:
    above = ""
    for line in path.read_text().splitlines():
        if re.search(r"= \d+( \[.*\])?;", line):
            assert "// " in line or above.lstrip().startswith("//"), f"{path.name}: no comment: {line.strip()}"
        above = line
