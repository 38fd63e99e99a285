"""The README's job is ten lines, and does what the README says: it loads, cuts, draws, equals the uncut net, learns."""

from __future__ import annotations

import re

import numpy as np
import pytest

from netpart.cli.main import VERBS
from netpart.draw import render
from netpart.graph.partition import partition_job
from netpart.layers import layer_type_names
from netpart.proto.job_pb2 import JobProto
from netpart.proto.reader import Job, read_job_text
from netpart.worker.ensemble import Ensemble
from tests.house.tree import ROOT

PAGE = (ROOT / "README.md").read_text(encoding="utf-8")
WORKERS = 2


@pytest.fixture
def text() -> str:
    """The one block of the README that is a job."""
    (block,) = re.findall(r"```protobuf\n(.*?)```", PAGE, flags=re.DOTALL)
    return str(block)


@pytest.fixture
def job(text: str) -> Job:
    return read_job_text(text, "README.md")


def test_the_job_has_ten_lines(text: str) -> None:
    assert len(text.splitlines()) == 10


def test_the_page_can_be_read_in_one_sitting() -> None:
    assert len(PAGE.splitlines()) <= 120


def test_it_asks_for_the_workers_it_speaks_of(job: Job) -> None:
    assert job.proto.cluster.nworkers_per_group == WORKERS


def test_it_draws(job: Job) -> None:
    drawing = render(partition_job(job.proto, WORKERS).graph, "txt")
    assert drawing.startswith("ten-lines, train: ")
    assert all(part in drawing for part in ("ip-00", "ip-01", "loss-00", "loss-01"))


def test_each_worker_holds_half_of_the_neurons_and_judges_half_of_the_rows(job: Job) -> None:
    parts = {part.name: part for part in partition_job(job.proto, WORKERS).graph.parts}
    assert parts["data"].worker == 0
    assert [parts[f"ip-0{w}"].region[1] for w in range(WORKERS)] == [(0, 5), (5, 10)]
    assert [parts[f"loss-0{w}"].region[0] for w in range(WORKERS)] == [(0, 16), (16, 32)]


def test_two_workers_learn_what_one_does(job: Job) -> None:
    job.proto.dtype = JobProto.FLOAT64
    cut, whole = Ensemble(partition_job(job.proto, WORKERS)), Ensemble(partition_job(job.proto, 1, uncut=True))
    for ensemble in (cut, whole):
        ensemble.initialise()
    losses = []
    for step in range(job.proto.train_steps):
        found, expected = cut.step("train", step), whole.step("train", step)
        assert found == pytest.approx(expected, rel=1e-9)
        losses.append(found["loss/loss"])
    assert np.mean(losses[-10:]) < 0.5 * np.mean(losses[:10])
    for name in ("ip/w", "ip/b"):
        assert np.allclose(cut.parameter(name), whole.parameter(name), rtol=0, atol=1e-11)


def test_its_pictures_are_there() -> None:
    pictures = re.findall(r'<img src="([^"]+)"', PAGE)
    assert pictures
    assert not [picture for picture in pictures if not (ROOT / picture).is_file()]


def test_the_verbs_it_lists_are_the_verbs_there_are() -> None:
    block = PAGE.split("## What you can do")[1].split("```")[1]
    assert sorted(re.findall(r"^netpart (\w+) ", block, flags=re.MULTILINE)) == sorted(VERBS)


def test_what_it_says_is_missing_is_missing() -> None:
    """A type that arrives makes this fail: the README then has a line to move."""
    assert not {"kGRU", "kRBMVis", "kRBMHid"} & set(layer_type_names())


def test_it_counts_the_types_of_layers() -> None:
    (count,) = re.findall(r"\[(\d+) types of layers\]", PAGE)
    page = (ROOT / "docs" / "layers.md").read_text(encoding="utf-8")
    assert int(count) == len(re.findall(r"^### k", page, flags=re.MULTILINE))
