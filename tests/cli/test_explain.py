"""netpart explain: a layer, its helpers, other cuts of it, and what if."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Netpart


def test_a_layer_and_what_is_around_it(job: Path, netpart: Netpart) -> None:
    answer = netpart("explain", job, "conv", "--workers", 2)
    assert answer.code == 0
    assert answer.out.startswith("conv: Convolution, batch 4+4 on 0, 1 (of 2 workers)\n")
    helpers = answer.out.split("Helpers before it:")[1].split("Backward")[0]
    assert "slice-data" in helpers
    assert "0 → 1" in helpers
    assert "No helpers after it." in answer.out
    (now,) = [line for line in answer.out.splitlines() if line.startswith("now  ")]
    assert now.split()[1:5] == ["batch", "4+4", "on", "0,"]
    assert "\nWith" not in answer.out


def test_what_if(job: Path, netpart: Netpart) -> None:
    answer = netpart("explain", job, "conv", "--workers", 2, "--set", "conv.partition_dim=1")
    assert answer.out.startswith("conv: Convolution, batch 4+4"), "the job as it is written"
    change = answer.out.split("\nWith --set conv.partition_dim=1:\n")[1]
    assert "channels 2+2 on 0, 1" in change
    assert "Nothing changes." in netpart("explain", job, "conv", "--workers", 2, "--set", "seed=3").out


def test_json_has_all_of_it(job: Path, netpart: Netpart) -> None:
    found = json.loads(netpart("explain", job, "conv", "--workers", 2, "--json", "--set", "ip.partition_dim=1").out)
    assert (found["layer"], found["cut"]) == ("conv", "batch 4+4 on 0, 1")
    assert [piece["worker"] for piece in found["pieces"]] == [0, 1]
    assert {reason["helper"] for reason in found["before"]} >= {"slice-data"}
    assert [other["cut"] for other in found["alternatives"] if other["present"]] == ["batch 4+4 on 0, 1"]
    assert [change["layer"] for change in found["what_if"]["layers"]] == ["ip"]


def test_without_a_layer_the_edges_by_their_bytes(job: Path, netpart: Netpart) -> None:
    words = job, "--workers", 2
    moved = sum(row["moved"] for row in json.loads(netpart("check", *words, "--json").out)["layers"])
    edges = json.loads(netpart("explain", *words, "--json").out)["edges"]
    sizes = [edge["forward"] + edge["backward"] for edge in edges]
    assert sum(sizes) == moved
    assert sizes == sorted(sizes, reverse=True)
    text = netpart("explain", *words).out
    assert f"({moved} bytes)" in text
    assert text.index(edges[0]["edge"]) < text.index(edges[-1]["edge"])
    assert netpart("explain", job, "--workers", 1).out == "Nothing crosses workers.\n"


def test_an_unknown_layer_is_refused(job: Path, netpart: Netpart) -> None:
    answer = netpart("explain", job, "conw")
    assert answer.code == 2
    assert answer.err == "error: explain: expected a layer of the training net, got 'conw'; did you mean conv?\n"


def test_a_change_that_cannot_be_is_refused(job: Path, netpart: Netpart) -> None:
    answer = netpart("explain", job, "ip", "--set", "ip.partition_dim=3", "--workers", 2)
    assert answer.code == 2
    assert "--set ip.partition_dim=3" in answer.err
