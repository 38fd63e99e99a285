"""Layers whose parts must know each other become two, and a cut changes nothing; what stands alone stays one."""

from __future__ import annotations

import numpy as np
import pytest

from netpart.collectives.kinds import ALL_GATHER, ALL_REDUCE
from netpart.errors import ConfigError
from netpart.graph.graph import LAYER
from netpart.graph.net import Net
from netpart.graph.partition import Partition, partition_job
from netpart.graph.partition_codec import decode_partition, encode_partition
from netpart.plan.price.ledger import compute_ledger
from netpart.program.instructions import Way
from netpart.proto.job_pb2 import JobProto
from netpart.spec import Placement, Shard, size
from netpart.verify.compare import verify_job
from netpart.verify.report import REORDERED, SEMANTIC
from netpart.worker.ensemble import Ensemble
from tests.graph.expanded import NORM, classified, normed
from tests.laws.workers import check_law

QUARTERS = "cut { axis: 0 parts: 2 } cut { axis: %d parts: 2 }"
COPIES = "cut { axis: 0 parts: 2 } cut { over: REPLICA parts: 2 }"
CUTS = {
    "rows": ("partition_dim: 0", 3),
    "space": ("partition_dim: 2", 3),
    "rows and channels": (QUARTERS % 1, 4),
    "rows and space": (QUARTERS % 3, 4),
    "rows, copied": (COPIES, 4),
}


def names(partition: Partition) -> list[str]:
    return [node.name for node in partition.graph.net.nodes if node.inserted and "total" not in node.name]


@pytest.mark.parametrize("cut", CUTS)
def test_a_batch_norm_that_is_cut_computes_what_the_uncut_one_does(cut: str) -> None:
    found = partition_job(normed(*CUTS[cut][:1]), CUTS[cut][1])
    assert names(found) == ["moments-bn"]
    check_law(found, 5)


@pytest.mark.parametrize("axis", [2, 3, 4])
def test_a_volume_is_cut_in_space(axis: int) -> None:
    check_law(partition_job(normed(f"partition_dim: {axis}", 3, space="shape: 4 shape: 5 shape: 3"), 3), 2)


@pytest.mark.parametrize("cut", ["partition_dim: -1", "partition_dim: 1", "cut { over: REPLICA parts: 3 }"])
def test_what_stands_alone_stays_one(cut: str) -> None:
    found = partition_job(normed(cut), 3)
    assert names(found) == []
    check_law(found, 5)


def test_two_numbers_of_each_channel_are_all_reduced_both_ways() -> None:
    found = partition_job(normed("partition_dim: 0"), 3)
    (sums,) = [c for c in found.graph.collectives if c.name == "moments-bn"]
    assert (sums.kind, sums.members, size(sums.region), sums.backward) == (ALL_REDUCE, (0, 1, 2), 2 * 4, True)
    assert sums.elements == 2 * (3 - 1) * 2 * 4


@pytest.mark.parametrize("cut", ["partition_dim: 0", QUARTERS % 1])
def test_a_worker_gets_its_own_parts_of_an_expanded_net(cut: str) -> None:
    found = partition_job(normed(cut), 4)
    got, _ = decode_partition(encode_partition(found, 1))
    names = [[p.name for p in graph.parts if p.worker == 1] for graph in (found.graph, got.graph)]
    nets = [[(n.name, n.inserted, [p.name for p in n.params]) for n in p.graph.net.nodes] for p in (found, got)]
    assert names[0] == names[1]
    assert nets[0] == nets[1]


def test_a_test_net_needs_no_moments() -> None:
    conf = normed("partition_dim: 0")
    conf.test_steps = 1
    found = partition_job(conf, 3)
    assert not any(node.inserted for node in found.phases["test"][0].graph.net.nodes)
    check_law(found, 3)


def test_verify_calls_a_cut_a_reordered_sum_and_parts_alone_another_meaning() -> None:
    report = verify_job(normed("partition_dim: 0"), 3)
    assert report.holds
    assert report.whole.worst.category == REORDERED
    local = verify_job(normed("partition_dim: 0", norm=f"{NORM} bn_mode: LOCAL"), 3)
    assert local.first is not None
    assert (local.first.layer, local.first.category, local.holds) == ("bn", SEMANTIC, False)


def test_parts_alone_send_nothing_for_it() -> None:
    found = partition_job(normed("partition_dim: 0", norm=f"{NORM} bn_mode: LOCAL"), 3)
    assert names(found) == []
    assert not [c for c in found.graph.collectives if c.name.endswith("bn")]


def test_overlapping_parts_cannot_be_alone() -> None:
    def placer(net: Net) -> list[Placement]:
        whole = [node.layer.output.whole for node in net.nodes]
        return [
            Placement(tuple(Shard(w, ((lo, hi), *box[1:])) for w, lo, hi in ((0, 0, 5), (1, 3, 7))))
            if node.name == "bn" else Placement((Shard(0, box),))
            for node, box in zip(net.nodes, whole, strict=True)
        ]  # fmt: skip

    check_law(partition_job(normed("partition_dim: -1"), 2, placer=placer), 1)
    local = normed("partition_dim: -1", norm=f"{NORM} bn_mode: LOCAL")
    with pytest.raises(ConfigError, match="bn: expected disjoint parts"):
        partition_job(local, 2, placer=placer)


def play(job: JobProto, workers: int, steps: int = 1) -> Ensemble:
    ensemble = Ensemble(partition_job(job, workers), keep=True)
    ensemble.initialise()
    for step in range(steps):
        ensemble.step("train", step)
    return ensemble


@pytest.mark.parametrize("mode", ["SYNC", "LOCAL"])
@pytest.mark.parametrize("micro_batches", [1, 3])
def test_running_statistics_follow_the_mini_batch_however_it_is_cut(mode: str, micro_batches: int) -> None:
    whole = play(normed("partition_dim: -1", 8), 1)
    conf = normed("partition_dim: 0", 8, norm=f"{NORM} bn_mode: {mode}")
    conf.neuralnet.micro_batches = micro_batches
    cut = play(conf, 3)
    for name in ("bn/mean", "bn/variance"):
        assert np.allclose(cut.parameter(name), whole.parameter(name), rtol=1e-12)
        assert len({values.tobytes() for _, _, values in cut.copies(name)}) == 1


def test_micro_batches_are_normalised_each_by_itself() -> None:
    conf = normed("partition_dim: 0", 8)
    conf.neuralnet.micro_batches = 2
    check_law(partition_job(conf, 3), 4)
    report = verify_job(conf, 3)
    assert report.first is not None
    assert (report.first.layer, report.first.category) == ("bn", SEMANTIC)


LOSSES = {
    "classes": ("partition_dim: 1", 3),
    "rows and classes": (QUARTERS % 1, 4),
    "classes, copied": ("cut { axis: 1 parts: 2 } cut { over: REPLICA parts: 2 }", 4),
    "uneven": ("cut { axis: 1 sizes: [1, 29, 10] }", 3),
}


@pytest.mark.parametrize("cut", LOSSES)
@pytest.mark.parametrize("topk", [1, 5])
def test_a_loss_that_is_cut_on_classes_computes_what_the_uncut_one_does(cut: str, topk: int) -> None:
    found = partition_job(classified(LOSSES[cut][0], topk=topk), LOSSES[cut][1])
    assert names(found) == ["blocks-loss"]
    check_law(found, 3)


def test_few_classes_make_one_block() -> None:
    check_law(partition_job(classified("partition_dim: 1", 3), 3), 3)


def test_the_figures_of_blocks_are_all_that_travels_of_a_loss() -> None:
    rows = 6
    classes = 4096
    workers = 4
    found = partition_job(classified("partition_dim: 1", classes, topk=1, rows=rows), workers)
    (gathered,) = [c for c in found.graph.collectives if c.name == "blocks-loss"]
    assert gathered.kind == ALL_GATHER
    assert not gathered.backward
    assert gathered.elements == (workers - 1) * rows * 64 * 5
    moved = sum(e.nbytes for e in compute_ledger(found).entries if e.channel.way != Way.BUCKET)
    assert moved == 8 * (gathered.elements + (workers - 1) * rows * 5) + 4 * (workers - 1) * rows


def test_bits_do_not_depend_on_how_classes_are_cut() -> None:
    found = [play(classified("partition_dim: 1", 128), workers) for workers in (2, 4)]
    bits = [[e.parameter(name).tobytes() for name in ("fc/weight", "fc/bias")] for e in found]
    losses = [e.activation("train", "loss").tobytes() for e in found]
    assert losses[0] == losses[1]
    assert bits[0] == bits[1]


def test_an_inherited_cut_on_classes_falls_back_to_the_batch() -> None:
    conf = classified("")
    conf.neuralnet.partition_dim = 1
    found = partition_job(conf, 2)
    (loss,) = [f for f in found.fallbacks if f.node == "loss"]
    assert loss.taken == "batch"
    assert {p.region[1] for p in found.graph.parts if p.kind == LAYER and p.name.startswith("loss")} == {(0, 40)}
