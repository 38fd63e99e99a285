"""The catalogue of fields has what proto/ says."""

from __future__ import annotations

import re

import pytest

from netpart.errors import ConfigError
from netpart.proto.field_catalogue import all_fields, find_fields
from netpart.resources import resource_folder
from tools.proto_comments import known

FIELDS = all_fields()


def test_each_field_is_there_once_and_explained() -> None:
    assert len({(field.block, field.name) for field in FIELDS}) == len(FIELDS)
    assert [field for field in FIELDS if not field.meaning] == []


def test_comments_are_those_that_the_compiler_keeps() -> None:
    comments = known()
    for field in FIELDS:
        assert field.meaning == comments[f"netpart.{field.block}.{field.name}"]
        for value in field.values:
            assert value.meaning == comments.get(f"netpart.{field.type}.{value.name}", "")


def test_the_place_is_that_of_the_declaration() -> None:
    for field in FIELDS:
        lines = (resource_folder("proto") / field.file).read_text(encoding="utf-8").splitlines()
        assert re.search(rf"\b{field.name} = {field.number}\b", lines[field.line - 1]), field


def test_defaults_are_as_a_job_writes_them() -> None:
    defaults = {f"{field.block}.{field.name}": field.default for field in FIELDS}
    assert (defaults["AdamProto.beta1"], defaults["JobProto.deadline"], defaults["JobProto.id"]) == ("0.9", "60", "-1")
    assert (defaults["JobProto.dtype"], defaults["JobProto.resume"]) == ("FLOAT32", "false")
    assert (defaults["JobProto.neuralnet"], defaults["JobProto.gpu"]) == (None, None)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("partition_dim", ["NetProto.partition_dim", "LayerProto.partition_dim", "ParamProto.partition_dim"]),
        ("LayerProto.partition_dim", ["LayerProto.partition_dim"]),
        ("updater.type", ["UpdaterProto.type"]),
        ("kAttention", ["LayerProto.type"]),
        ("CDProto", ["AlgProto.cd_conf", "CDProto.cd_k"]),
    ],
)
def test_a_name_is_a_field_a_block_or_a_value(name: str, found: list[str]) -> None:
    assert [f"{field.block}.{field.name}" for field in find_fields(name)] == found


def test_a_name_of_another_framework() -> None:
    with pytest.raises(ConfigError, match="base_lr"):
        find_fields("lr")
