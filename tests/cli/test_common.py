"""Options that several verbs share."""

from __future__ import annotations

from pathlib import Path

import pytest

from netpart.choices import ALGORITHMS, COLLECTIVES, NCCL, SHARDING
from netpart.proto.job_pb2 import Collectives
from tests.cli.conftest import Netpart


def test_an_algorithm_has_one_name_everywhere() -> None:
    named = [name.lower() for name, _ in Collectives.Algorithm.items()]
    assert sorted(COLLECTIVES) == sorted(named) == sorted(("auto", NCCL, *ALGORITHMS))


@pytest.mark.parametrize("name", COLLECTIVES)
def test_the_algorithm_that_is_named_is_the_one_that_is_taken(name: str, job: Path, netpart: Netpart) -> None:
    assert f"collectives: {name.upper()}\n" in netpart("partition", job, "--collectives", name).out


@pytest.mark.parametrize(
    "words", [(verb, option) for verb in ("draw", "explain") for option in ("--kernels", "--seed")]
)
def test_a_verb_refuses_what_would_change_nothing(words: tuple[str, str], job: Path, netpart: Netpart) -> None:
    answer = netpart(words[0], job, *(("ip",) if words[0] == "explain" else ()), words[1], "1")
    assert (answer.code, answer.out) == (2, "")
    assert f"error: unknown: {words[1]} 1; " in answer.err


@pytest.mark.parametrize("wanted", SHARDING)
def test_updates_are_shared_out_as_is_wanted(wanted: str, job: Path, netpart: Netpart) -> None:
    answer = netpart("partition", job, "--shard-updates", wanted).out
    assert f"shard_updates: {wanted.upper()}\n" in answer
    assert f"--shard-updates {wanted}" in answer


@pytest.mark.parametrize("options", [("--scheme", "data", "--stages", 2), ("--set", "neuralnet.stages=2")])
def test_stages_are_those_of_a_pipeline(options: tuple[object, ...], job: Path, netpart: Netpart) -> None:
    answer = netpart("check", job, "--workers", 2, *options)
    assert answer.code == 2
    assert "neuralnet.stages: expected the scheme PIPELINE, got " in answer.err


def test_another_scheme_leaves_the_stages_of_the_job_out(job: Path, netpart: Netpart) -> None:
    stages = "--set", "neuralnet.scheme=PIPELINE", "--set", "neuralnet.stages=2", "--workers", 2
    assert "stages:" not in netpart("partition", job, *stages).out
    assert netpart("check", job, *stages, "--scheme", "data").code == 0


def test_stages_and_replicas_make_up_the_workers(job: Path, netpart: Netpart) -> None:
    answer = netpart("check", job, "--workers", 4, "--stages", 3)
    assert answer.code == 2
    assert "expected 4 workers as stages x replicas, got 3 x 1; change --workers, --stages or --replicas" in answer.err
