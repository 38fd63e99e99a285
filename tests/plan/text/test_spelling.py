"""Placements in the words of a job: what is written is read back as the same placement, and is short."""

from __future__ import annotations

from dataclasses import replace

import pytest
from google.protobuf import text_format

from netpart.errors import NetpartError
from netpart.graph.partition import Partition, partition_job
from netpart.plan.partition import partition_by_scheme
from netpart.plan.text.spelling import cut_fields, spell_placement, wanted_placements
from netpart.proto.job_pb2 import JobProto
from netpart.spec import Placement, Shard
from tests.graph.jobs import data, job, layer, product

ROWS, WIDTH = 8, 6


def net(more: str = "", rows: int = ROWS) -> JobProto:
    loss = layer("loss", "kSoftmaxLoss", "fc", "data")
    return job(data(rows), product("fc", "data", WIDTH, more), loss, "partition_dim: -1")


def said(found: Partition, number: int = 1) -> str:
    """What a plan says about the cut of a layer."""
    job = found.job.neuralnet
    conf = spell_placement(job.layer[number], wanted_placements(found)[number], job, found.workers)
    return text_format.MessageToString(cut_fields(conf), as_one_line=True, use_short_repeated_primitives=True)


@pytest.mark.parametrize(
    "text",
    [
        "partition_dim: 0", "partition_dim: 1 location: [2, 0]", "partition_dim: 1 location: [2, 1, 1]", "location: 2",
        "cut { axis: 0 parts: 2 } cut { over: REPLICA parts: 3 } location: [0, 1, 2, 2, 0, 1]",
        "cut { over: INPUT sizes: [1, 3] location: [2, 0] }", "cut { over: REPLICA parts: 2 } sum_gradient: true",
        "shard { region: [0, 8, 0, 5] worker: 1 } shard { region: [0, 8, 5, 6] }",
    ],
)  # fmt: skip
def test_what_the_author_wrote_stays(text: str) -> None:
    conf = net(text)
    found = partition_job(conf, 3)
    assert (
        spell_placement(conf.neuralnet.layer[1], wanted_placements(found)[1], conf.neuralnet, 3)
        == conf.neuralnet.layer[1]
    )


WHOLE = ((0, ROWS), (0, WIDTH))


def on(axis: int, *parts: tuple[int, int, int]) -> Placement:
    return Placement(tuple(Shard(w, (*WHOLE[:axis], (lo, hi), *WHOLE[axis + 1 :])) for w, lo, hi in parts))


LEFT, RIGHT = "region: [0, 8, 0, 3]", "region: [0, 8, 3, 6]"
ROW_HALVES, COLUMN_HALVES = ((0, 4), (4, 8)), ((0, 3), (3, 6))
CELLS = [(rows, columns) for columns in COLUMN_HALVES for rows in ROW_HALVES]
GRID = Placement(tuple(Shard(worker, cell) for worker, cell in enumerate(CELLS)))


@pytest.mark.parametrize(
    ("placement", "text"),
    [
        (Placement((Shard(0, WHOLE),)), "partition_dim: -1"),
        (Placement((Shard(2, WHOLE),)), "partition_dim: -1 location: [2]"),
        (on(0, (0, 0, 2), (1, 2, 4), (2, 4, 8)), "partition_dim: 0"),
        (on(0, (0, 0, 2), (1, 2, 5), (2, 5, 8)), "partition_dim: 0 remainder: SPREAD"),
        (on(1, (2, 0, 3), (0, 3, 6)), "partition_dim: 1 location: [2, 0]"),
        (on(1, (0, 0, 1), (1, 1, 6)), "cut { axis: 1 sizes: [1, 5] }"),
        (on(1, (0, 3, 6), (1, 0, 3)), f"shard {{ worker: 0 {RIGHT} }} shard {{ worker: 1 {LEFT} }}"),
        (Placement(tuple(Shard(w, WHOLE) for w in range(3))), "cut { over: REPLICA parts: 3 }"),
        (
            Placement((Shard(0, WHOLE), Shard(2, WHOLE)), True),
            "location: [0, 2] cut { over: REPLICA parts: 2 } sum_gradient: true",
        ),
        (Placement((Shard(0, WHOLE, ((0, 2),)), Shard(1, WHOLE, ((2, 4),)))), "cut { over: INPUT parts: 2 }"),
        (GRID, "cut { axis: 1 parts: 2 } cut { axis: 0 parts: 2 }"),
    ],
)  # fmt: skip
def test_a_placement_is_said_as_shortly_as_can_be(placement: Placement, text: str) -> None:
    workers = max(3, *(shard.worker + 1 for shard in placement.shards))
    plain = partition_job(net(), workers).graph.placements
    found = partition_job(net(), workers, placer=lambda _: [plain[0], placement, plain[2]])
    assert said(found) == text


def test_phases_and_micro_batches_that_no_cut_says_at_once_are_listed() -> None:
    conf = net(rows=5)
    conf.neuralnet.micro_batches = 2
    text = said(partition_by_scheme(conf, 3, scheme="data"))
    assert text.count("shard {") == 2 + 3
    assert "rows: 2" in text
    assert "phase: kTrain" in text


def test_what_cannot_be_said_is_refused() -> None:
    conf = net()
    found = wanted_placements(partition_job(conf, 1))[1]
    copies = Placement((Shard(0, WHOLE), Shard(1, WHOLE)))
    both = [replace(found[0], placement=replace(copies, sum_gradient=sums)) for sums in (True, False)]
    with pytest.raises(NetpartError, match="fc: expected one placement for all micro-batches"):
        spell_placement(conf.neuralnet.layer[1], both, conf.neuralnet, 2)
