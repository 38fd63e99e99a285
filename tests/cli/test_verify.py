"""netpart verify: the table, the verdict, the JSON, the exit code."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from netpart.families import SCHEMES
from netpart.graph.partition import Partition
from netpart.graph.uncut import partition_uncut
from netpart.plan.partition import partition_by_scheme
from netpart.proto.job_pb2 import JobProto
from netpart.verify import compare, report
from tests.cli.conftest import Netpart


def test_a_cut_net_is_proved_equal(job: Path, netpart: Netpart) -> None:
    report = job.parent / "out" / "report.json"
    arguments = ("--workers", 3, "--dtype", "float64", "--steps", 2, "--set", "ip.partition_dim=1", "--json", report)
    answer = netpart("verify", job, *arguments)
    assert answer.code == 0, answer
    lines = answer.out.splitlines()
    assert lines[0] == "small cut over 3 workers, against uncut: 2 training steps, float64, reference kernels"
    assert [line.split()[0] for line in lines[2:7]] == ["layer", "data", "conv", "ip", "loss"]
    assert lines[-1].startswith("They agree: ")
    found = json.loads(report.read_text())
    assert (found["holds"], found["first"], found["dtype"], found["workers"]) == (True, None, "float64", 3)


def test_a_layer_is_classed_and_measured(job: Path, netpart: Netpart) -> None:
    answer = netpart("verify", job, "--workers", 3, "--set", "ip.partition_dim=1")
    rows = {line.split()[0]: line for line in answer.out.splitlines()[2:7]}
    assert rows["layer"].split() == ["layer", "class", "relative", "bound", "absolute", "ULP", "largest", "in"]
    assert rows["data"].split()[1:] == ["bitwise", "0", "-", "0", "0"]
    assert "  reordered sum  " in rows["conv"]
    assert max(map(len, rows.values())) <= 80


def test_a_difference_is_named(job: Path, netpart: Netpart, monkeypatch: pytest.MonkeyPatch) -> None:
    """A faster learning rate on the cut side: the first parameter that is updated differs."""

    def slower(proto: JobProto, folder: Path | None = None) -> Partition:
        other = JobProto()
        other.CopyFrom(proto)
        other.updater.learning_rate.base_lr /= 2
        return partition_uncut(other, folder)

    monkeypatch.setattr(compare, "partition_uncut", slower)
    answer = netpart("verify", job, "--workers", 2, "--steps", 1, "--dtype", "float32")
    assert answer.code == 1
    *_, differ, first, hint, command = answer.out.splitlines()
    assert differ.startswith("They differ: 4 of 17 tensors by more than 1e-05 or 8 times the uncut net's own error ")
    begin = "First difference that the order of addition does not explain: conv: parameter w in train step 0: error "
    assert first.startswith(begin)
    assert answer.out.count("semantic") == 2
    assert hint.startswith("Rounding may have decided a near tie differently.")
    assert command == f"  netpart verify {job} --workers 2"


def test_a_difference_within_the_law_is_named_and_allowed(
    job: Path, netpart: Netpart, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "CANCELLATION", 0)
    answer = netpart("verify", job, "--workers", 2, "--steps", 1)
    assert answer.code == 0
    agree, first = answer.out.splitlines()[-2:]
    assert agree.startswith("They agree: ")
    assert first.startswith("First difference that the order of addition does not explain: ")


def test_all_schemes_are_verified_in_one_table(job: Path, netpart: Netpart, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    answer = netpart("verify", job, "--workers", 3, "--steps", 1, "--schemes", "all", "--json", report)
    assert answer.code == 0, answer
    rows = answer.out.splitlines()[3:-2]
    assert [row.split()[0] for row in rows] == sorted(SCHEMES.names())
    assert {row.split()[1] for row in rows} == {"yes"}
    assert answer.out.splitlines()[-1] == "They all agree, within 1e-11."
    found = json.loads(report.read_text())["schemes"]
    assert [s["scheme"] for s in found] == sorted(SCHEMES.names())
    assert {s["scheme"]: s["class"] for s in found}["SEQUENTIAL"] == "bitwise"
    assert all(s["holds"] and s["comparisons"] for s in found)
    check = netpart("check", job, "--workers", 3, "--scheme", "data", "--dtype", "float64", "--json")
    assert {s["scheme"]: s["bytes"] for s in found}["DATA"] == sum(w["sent"] for w in json.loads(check.out)["workers"])


def test_some_schemes_are_verified_in_the_order_given(job: Path, netpart: Netpart) -> None:
    answer = netpart("verify", job, "--workers", 2, "--steps", 1, "--schemes", "naive,data, naive")
    assert [line.split()[0] for line in answer.out.splitlines()[3:-2]] == ["NAIVE", "DATA"]


def test_the_scheme_that_differs_is_named(job: Path, netpart: Netpart, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sums of the parameters' gradients are left out: that is wrong where rows are cut, and only there."""

    def unsummed(*arguments: Any) -> Partition:
        return replace(partition_by_scheme(*arguments), buckets=[])

    monkeypatch.setattr(compare, "partition_by_scheme", unsummed)
    answer = netpart("verify", job, "--workers", 2, "--steps", 1, "--schemes", "sequential,data")
    assert answer.code == 1
    agrees = {line.split()[0]: line.split()[1] for line in answer.out.splitlines()[3:5]}
    assert agrees == {"SEQUENTIAL": "yes", "DATA": "no"}
    assert answer.out.splitlines()[4].endswith("  ip")
    assert answer.out.splitlines()[-1].startswith(
        "DATA: First difference that the order of addition does not explain: ip: parameter"
    )


def test_a_scheme_that_is_none_is_answered_with_the_nearest(job: Path, netpart: Netpart) -> None:
    answer = netpart("verify", job, "--workers", 2, "--schemes", "data,altsplt")
    assert answer.code == 2
    assert "--schemes: expected a known scheme, got 'altsplt'; did you mean altsplit" in answer.err
    assert "--schemes: expected a known scheme, got none; all" in netpart("verify", job, "--schemes", "").err


def test_one_scheme_and_several_exclude_each_other(job: Path, netpart: Netpart) -> None:
    answer = netpart("verify", job, "--schemes", "all", "--scheme", "naive")
    message = "error: --schemes: expected no --scheme with it, got naive; omit one of them\n"
    assert (answer.code, answer.err) == (2, message)


def test_it_computes_in_float64_unless_float32_is_asked_for(netpart: Netpart, job: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    for arguments, dtype in (((), "float64"), (("--dtype", "float32"), "float32")):
        netpart("verify", job, "--workers", 2, "--steps", 1, "--json", report, *arguments)
        assert json.loads(report.read_text())["dtype"] == dtype


def test_missing_data_is_told_with_the_way_to_get_it(job: Path, netpart: Netpart) -> None:
    text = (
        job.read_text()
        .replace("kSyntheticInput", "kRecordInput")
        .replace("store_conf {", 'store_conf { path: "no.bin"')
        .replace("    synthetic_conf { classes: 5 }\n", "")
    )
    job.write_text(text)
    answer = netpart("verify", job, "--workers", 2)
    assert answer.code == 1
    assert answer.err.startswith(f"error: {job}:9:18: data: ")
    assert "`netpart data --help`" in answer.err
