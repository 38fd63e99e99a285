"""netpart verify: the table, the verdict, the JSON, the exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

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


def test_a_difference_is_named(job: Path, netpart: Netpart, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a bound that nothing can keep, the very first tensor is reported."""
    monkeypatch.setattr("netpart.verify.compare.BOUNDS", {"float32": -1.0, "float64": -1.0})
    answer = netpart("verify", job, "--workers", 2, "--steps", 1, "--dtype", "float32")
    assert answer.code == 1
    assert "They differ, first in data: activation in train step 0: error 0.0e+00, bound -1e+00. " in answer.out
    assert answer.out.count("differs") == 4
    assert "float64" not in answer.out


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
    )
    job.write_text(text)
    answer = netpart("verify", job, "--workers", 2)
    assert answer.code == 1
    assert answer.err.startswith(f"error: {job}:9:18: data: ")
    assert "`netpart data --help`" in answer.err
