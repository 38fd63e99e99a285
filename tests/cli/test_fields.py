"""netpart fields: what the language has, for people and for editors."""

from __future__ import annotations

import json

from netpart.proto.field_catalogue import all_fields
from tests.cli.conftest import Netpart


def test_a_field_is_explained_with_its_values(netpart: Netpart) -> None:
    lines = netpart("fields", "updater.type").out.splitlines()
    assert [line.split()[0] for line in lines[:2]] == ["field", "UpdaterProto.type"]
    assert "UpdaterType" in lines[1]
    assert "proto/updater.proto:" in lines[1]
    assert lines[2:4] == ["", "value         meaning"]
    assert any(line.startswith("kAdam ") for line in lines[4:])


def test_all_fields_as_json(netpart: Netpart) -> None:
    found = json.loads(netpart("fields", "--json").out)
    assert len(found) == len(all_fields())
    kernel = next(f for f in found if (f["block"], f["name"]) == ("ConvolutionProto", "kernel"))
    assert (kernel["type"], kernel["repeated"], kernel["file"]) == ("int32", False, "neuron.proto")


def test_a_name_that_nothing_has(netpart: Netpart) -> None:
    answer = netpart("fields", "partiton_dim")
    assert answer.code == 2
    assert answer.err == (
        "error: fields: expected a field, block, type or value, got 'partiton_dim';"
        " did you mean partition_dim or partition_id?\n"
    )
