"""netpart diff: two jobs, or one with and without options."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Netpart


def test_one_job_with_and_without_an_option(job: Path, netpart: Netpart) -> None:
    answer = netpart("diff", job, "--workers", 2, "--workers", 2, "--set", "ip.partition_dim=1")
    lines = answer.out.splitlines()
    assert answer.code == 1
    assert lines[1].split() == ["ip", "batch", "4+4", "on", "0,", "1", "neurons", "2+3", "on", "0,", "1"]
    assert lines[2] == ""
    assert lines[3].split()[-3:] == ["before", "after", "ratio"]
    assert [line.split()[1] for line in lines[4:]].count("most") == 2


def test_a_scheme_for_each_side(job: Path, netpart: Netpart) -> None:
    answer = netpart(
        "diff", job, "--workers", 2, "--workers", 2, "--scheme", "data", "--scheme", "sequential", "--json"
    )
    found = json.loads(answer.out)
    conv = next(layer for layer in found["layers"] if layer["layer"] == "conv")
    assert conv == {"layer": "conv", "before": "batch 4+4 on 0, 1", "after": "whole on 0"}
    (total,) = [m for m in found["measures"] if m["what"] == "moves" and m["whose"] == "all"]
    assert total["after"] == 0 < total["before"]
    assert (answer.code, found["same"]) == (1, False)


def test_collectives_carried_out_otherwise_take_other_memory(job: Path, netpart: Netpart) -> None:
    options = "--workers", 4, "--workers", 4, "--scheme", "naive", "--scheme", "naive"
    answer = netpart("diff", job, *options, "--collectives", "direct", "--collectives", "tree", "--json")
    found = json.loads(answer.out)
    assert (answer.code, found["layers"]) == (1, [])
    assert {m["what"] for m in found["measures"] if m["before"] != m["after"]} <= {"moves", "memory"}


def test_two_jobs_share_the_options(job: Path, netpart: Netpart, tmp_path: Path) -> None:
    other = tmp_path / "other.conf"
    other.write_text(job.read_text().replace("num_filters: 4", "num_filters: 6"))
    same = netpart("diff", job, other, "--set", "conv.convolution_conf.num_filters=4")
    assert (same.code, same.out) == (0, "The plans are the same.\n")
    answer = netpart("diff", job, other, "--workers", 2)
    assert answer.code == 1
    assert answer.out.splitlines()[1] == "conv   batch 4+4 on 0, 1 of 8×4×6×6  batch 4+4 on 0, 1 of 8×6×6×6"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "expected two jobs, or one and an option, got one job; add JOB2, --scheme, --workers or --set"),
        (("nothing.conf",), "nothing.conf: expected a job configuration file, got none"),
        (("--scheme", "dota"), "expected a known scheme, got 'dota'; did you mean data?"),
        (("--workers", "1", "--workers", "2", "--workers", "3"), "--workers: expected one or two, got 3"),
        (("--set", "ip.partition_dim=3"), "expected a cut on axis 0 (batch) or 1"),
    ],
)
def test_what_is_wrong_is_no_difference(job: Path, netpart: Netpart, arguments: tuple[str, ...], message: str) -> None:
    answer = netpart("diff", job, *arguments)
    assert answer.code == 2
    assert message in answer.err


def test_other_errors_are_no_difference_either(job: Path, netpart: Netpart, tmp_path: Path) -> None:
    broken = tmp_path / "broken.conf"
    broken.write_text(
        'neuralnet { layer { name: "d" type: kShardData sharddata_conf { path: "x" batchsize: 2 } } '
        'layer { name: "m" type: kMnist srclayers: "d" } }'
    )
    answer = netpart("diff", job, broken)
    assert answer.code == 2
    assert answer.err.startswith("error: ")


def test_two_pipelines_are_compared(netpart: Netpart, job: Path) -> None:
    answer = netpart("diff", job, "--workers", 2, "--workers", 4, "--stages", 2, "--stages", 4, "--micro-batches", 4)
    assert answer.code == 1, answer.err
    assert "on 3" in answer.out
    refused = netpart("diff", job, *["--micro-batches", 2] * 3)
    assert refused.err.startswith("error: --micro-batches: expected one or two, got 3")
