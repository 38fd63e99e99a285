"""Placements that a job lists shard by shard: taken as they are, or refused with the place of the block."""

from __future__ import annotations

import pytest

from netpart.errors import ConfigError, FieldPath
from netpart.graph.build import build_net
from netpart.graph.invariants import check_graph
from netpart.graph.partition import partition_job
from netpart.graph.passes.place import place_layers
from netpart.proto.worker_count import default_workers
from netpart.spec import Placement, Shard
from tests.graph.jobs import data, job, layer, product

UPPER, LOWER = "shard { worker: 2 region: [0, 4, 0, 6] }", "shard { worker: 0 region: [3, 8, 0, 6] }"


def placed(blocks: str, kind: str = "top", phase: str = "train") -> Placement:
    """The placement of one layer: rows 8, 6 neurons that read 4."""
    named = {
        "top": product("top", "data", 6, blocks if kind == "top" else ""),
        "loss": layer("loss", "kSoftmaxLoss", "top", "data", more=blocks if kind == "loss" else ""),
    }
    conf = job(data(8), *named.values())
    result = place_layers(build_net(conf, phase), conf.neuralnet, 3)
    return result.placements[1 + list(named).index(kind)]


def test_boxes_are_taken_as_they_are_listed() -> None:
    assert placed(UPPER + LOWER) == Placement((Shard(2, ((0, 4), (0, 6))), Shard(0, ((3, 8), (0, 6)))))


def test_shards_may_be_addends() -> None:
    blocks = "shard { worker: 1 region: [0, 8, 0, 6] term: [3, 4] } shard { region: [0, 8, 0, 6] term: [0, 3] }"
    whole = ((0, 8), (0, 6))
    assert placed(blocks) == Placement((Shard(1, whole, ((3, 4),)), Shard(0, whole, ((0, 3),))))


def test_copies_may_sum_their_gradient() -> None:
    assert placed("cut { over: REPLICA parts: 2 } sum_gradient: true").sum_gradient
    assert not placed("cut { over: REPLICA parts: 2 }").sum_gradient


def test_shards_may_differ_by_phase_and_by_micro_batch() -> None:
    blocks = f"{UPPER} {LOWER} shard {{ phase: kTest worker: 1 region: [0, 8, 0, 6] }}"
    assert [s.worker for s in placed(blocks).shards] == [2, 0]
    assert [s.worker for s in placed(blocks, phase="test").shards] == [2, 0, 1]
    sized = "shard { rows: 3 region: [0, 3, 0, 6] } shard { rows: 2 worker: 1 region: [0, 2, 0, 6] }"
    conf = job(data(5), product("top", "data", 6, sized), layer("loss", "kSoftmaxLoss", "top", "data"))
    conf.neuralnet.micro_batches = 2
    found = partition_job(conf, 2).phases["train"]
    assert [micro.graph.placements[1].workers for micro in found] == [(1,), (0,)]


def test_a_job_asks_for_the_workers_of_its_shards() -> None:
    conf = job(data(8), product("top", "data", 6, UPPER + LOWER), layer("loss", "kSoftmaxLoss", "top", "data"))
    assert default_workers(conf) == 3
    check_graph(partition_job(conf, 3).graph)


@pytest.mark.parametrize(
    ("blocks", "message", "at"),
    [
        (UPPER, r"expected shards that cover \[0, 8, 0, 6\], got a gap", ("shard",)),
        (UPPER + UPPER, "expected copies on different workers, got two equal shards on one", ("shard",)),
        (UPPER + LOWER + "partition_dim: 0", "expected shards alone, got partition_dim as well", ("shard",)),
        (UPPER + LOWER + "location: 1", "expected shards alone, got location as well", ("shard",)),
        (LOWER + "shard { worker: 3 }", "expected a worker below 3, got 3; run with", ("shard", 1, "worker")),
        (LOWER + "shard { region: [0, 9, 0, 6] }", r"expected a box in \[0, 8, 0, 6\]", ("shard", 1, "region")),
        (LOWER + "shard { region: [0, 0, 0, 6] }", "expected a box in", ("shard", 1, "region")),
        (LOWER + "shard { region: [0, 8, 0] }", "expected a box in", ("shard", 1, "region")),
        ("shard { region: [0, 8, 0, 6] term: [0, 3] }", r"expected terms that tile \[0, 4\]", ("shard",)),
        ("shard { region: [0, 8, 0, 6] term: [0, 5] }", r"expected a box in \[0, 4\]", ("shard", 0, "term")),
        ("shard { phase: kTest region: [0, 8, 0, 6] }", "got none in phase train for 8 rows", ("shard",)),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_with_its_place(blocks: str, message: str, at: FieldPath) -> None:
    with pytest.raises(ConfigError, match=message) as refused:
        placed(blocks)
    assert refused.value.at is not None
    assert refused.value.at[3:] == at


def test_a_loss_has_no_addends() -> None:
    with pytest.raises(ConfigError, match="only convolutions and inner products have addends"):
        placed("shard { region: [0, 8, 0, 6] term: [0, 4] }", "loss")
