"""The table of random jobs misses no layer type and no field: what is not drawn is named, with the reason."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import accumulate
from typing import Any

import pytest

from netpart.layers import layer_class, layer_type_names
from netpart.proto.job_pb2 import JobProto, LayerProto
from tests.house.tree import ROOT
from tests.laws.cases import ELEMENT_LOSSES
from tests.laws.makers import MAKERS
from tests.laws.options import CUT, JOB, LAYERS, OMITTED, PARAM, UPDATER
from tests.laws.sketch import LINES

ENDS = ("kSoftmaxLoss", "kEuclideanLoss", *ELEMENT_LOSSES, "kAccuracy", "kConfusion")
SYNTHETIC = ("kSyntheticMasks", "kSyntheticTokens")
"""Inputs of which the comment at store_conf does not speak."""


def confs() -> dict[str, list[str]]:
    """The conf blocks of each type, as the comments of the language have them."""
    found: dict[str, list[str]] = {}
    text = (ROOT / "proto" / "layer.proto").read_text()
    for field, types in re.findall(r"optional \w+ (\w+_conf) = \d+;\s*// (.*)", text):
        for name in types.split(", "):
            found.setdefault(name, []).append(field)
    for name in SYNTHETIC:
        found.setdefault(name, []).append("store_conf")
    return found


def fields(descriptor: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Every field of a message that is no message itself, by its path."""
    for field in descriptor.fields:
        inner = field.message_type if field.message_type is not None and not field.is_extension else None
        if inner is not None and inner is not descriptor and inner.name not in ("LayerProto", "ParamProto"):
            yield from fields(inner, f"{path}{field.name}.")
        else:
            yield f"{path}{field.name}", field


def omitted(field: Any, path: str) -> bool:
    """True if a field, or what it belongs to, is named with a reason."""
    way = accumulate(path.split("."), "{}.{}".format)
    return f"{field.containing_type.name}.{field.name}" in OMITTED or any(each in OMITTED for each in way)


def test_every_layer_type_is_drawn_or_named() -> None:
    missing = [name for name in layer_type_names() if name not in LINES and name not in OMITTED]
    assert not missing


def test_every_line_has_a_maker() -> None:
    assert {*MAKERS, *ENDS, "kSyntheticInput", *SYNTHETIC} == set(LAYERS)


@pytest.mark.parametrize("kind", LAYERS)
def test_every_name_of_a_class_is_drawn(kind: str) -> None:
    """Types that one class implements may be lines of their own."""
    assert all(name in LINES or name in OMITTED for name in layer_class(kind).types)


@pytest.mark.parametrize("kind", LAYERS)
def test_every_field_of_a_conf_is_drawn_or_named(kind: str) -> None:
    found = confs().get(kind, [])
    own = {path.split(".")[0] for path in LAYERS[kind] if "." in path}
    assert own <= set(found), "an option of another type"
    for conf in found:
        message = LayerProto.DESCRIPTOR.fields_by_name[conf].message_type
        for path, field in fields(message, f"{conf}."):
            assert path in LAYERS[kind] or omitted(field, path), path


def test_every_field_of_a_job_is_drawn_or_named() -> None:
    for path, field in fields(JobProto.DESCRIPTOR, ""):
        assert path in JOB or path in UPDATER or omitted(field, path), path


def test_every_field_of_a_layer_is_drawn_or_named() -> None:
    for path, field in fields(LayerProto.DESCRIPTOR, ""):
        assert path in {*CUT, "type"} or path.split(".")[0].endswith("_conf") or omitted(field, path), path


def test_every_field_of_a_param_is_drawn_or_named() -> None:
    message = LayerProto.DESCRIPTOR.fields_by_name["param"].message_type
    for path, field in fields(message, ""):
        assert path in PARAM or omitted(field, path), path


def test_nothing_is_both_drawn_and_left_out() -> None:
    drawn = {*LINES, *JOB, *UPDATER, *CUT, *PARAM}
    assert not drawn & set(OMITTED)
