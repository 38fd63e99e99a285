"""Small jobs that ask for the moon are answered in a second of processor time, in little memory, with the limit."""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Netpart

ROOM = 512 << 20
"""Bytes of address space that an answer may take."""
SECONDS = 1.0
"""Of processor time: a machine that is busy makes no answer late."""
HUGE = "data.store_conf.shape=2147483647,2147483647,2147483647"

ANSWERS = {
    "r.location=1000000": "r.location[0]: expected from 0 to 4095, got 1000000",
    "r.cut[0].parts=2147483647": "r.cut[0].parts: expected from 1 to 4096, got 2147483647; parts is: number of parts",
    "neuralnet.micro_batches=1000000000": "neuralnet.micro_batches: expected from 1 to 1024, got 1000000000; micro",
    "data.store_conf.batchsize=1000000000": "batchsize[0]: expected from 1 to 16777216, got 1000000000; batchsize",
    HUGE: "data: expected an output of at most 8 axes, of 2,147,483,647 elements on each and 1,099,511,627,776 in all",
    "cluster.nworkers_per_group=2147483647": "cluster.nworkers_per_group: expected from 1 to 4096, got 2147483647",
    "bucket_bytes=2147483647": "bucket_bytes: expected from 1 to 1073741824, got 2147483647; bucket_bytes is",
}
JOB = """train_one_batch{alg:kBP} updater{type:kSGD learning_rate{type:kFixed base_lr:0.1}} train_steps:1 neuralnet{
layer{name:"data" type:kSyntheticInput store_conf{batchsize:4 shape:8}}
layer{name:"r" type:kReLU srclayers:"data" cut { over: REPLICA parts: 1 } } }
"""
"""A layer, with a cut whose fields can be changed."""


@pytest.fixture
def small(tmp_path: Path, netpart: Netpart) -> Iterator[Path]:
    """The file of JOB, while this process may have ROOM and not more than it has."""
    path = tmp_path / "job.conf"
    path.write_text(JOB)
    netpart("check", path)  # loads what a command loads
    limits = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + ROOM, limits[1]))
    yield path
    resource.setrlimit(resource.RLIMIT_AS, limits)


@pytest.mark.parametrize("verb", ["check", "draw", "partition", "run", "verify", "simulate"])
@pytest.mark.parametrize("change", ANSWERS)
def test_it_is_answered_with_its_limit(change: str, verb: str, small: Path, netpart: Netpart) -> None:
    begin = time.process_time()
    answer = netpart(verb, small, "--set", change)
    assert time.process_time() - begin < SECONDS
    assert (answer.code, answer.out) == (2, "")
    assert ANSWERS[change] in answer.err


@pytest.mark.parametrize("rows", [1 << 16, 1 << 24])
def test_a_large_batch_is_priced_without_being_made(rows: int, small: Path, netpart: Netpart) -> None:
    begin = time.process_time()
    answer = netpart("check", small, "--set", f"data.store_conf.batchsize={rows}", "--workers", "2")
    assert time.process_time() - begin < SECONDS
    assert answer.code == 0
    assert f"batch {rows}" in answer.out


def test_a_run_that_needs_more_memory_than_there_is_is_refused_before_it_begins(small: Path, netpart: Netpart) -> None:
    change = "data.store_conf.shape=4096,4096"
    answer = netpart("run", small, "--launcher", "threads", "--set", change, "--set", "data.store_conf.batchsize=4096")
    assert answer.code in (1, 2)
    assert "itself failed" not in answer.err


@pytest.mark.parametrize("option", ["--workers", "--stages", "--replicas", "--micro-batches", "--threads", "--steps"])
@pytest.mark.parametrize("value", ["9" * 30, "-1", "1e3", "nan", "", "x" * 5000])
def test_a_number_that_no_option_can_have_is_refused(option: str, value: str, small: Path, netpart: Netpart) -> None:
    answer = netpart("run", small, f"{option}={value}")
    assert answer.code == 2
    assert answer.err.startswith(f"error: {option}: expected a whole number")
    assert answer.err.count("\n") == 1
    assert len(answer.err) < 200


def test_a_job_without_an_end_is_not_read(netpart: Netpart) -> None:
    assert "/dev/zero: expected a job configuration file, got a device" in netpart("check", "/dev/zero").err
