"""What differs between two partitions: which layers, and by how much."""

from __future__ import annotations

import pytest

from netpart.families import SCHEMES
from netpart.graph.partition import Partition
from netpart.plan.partition import partition_by_scheme
from netpart.plan.price.ledger import compute_ledger
from netpart.plan.text.diff import KINDS, LayerChange, MeasureChange, PartitionDifference, compare_partitions
from netpart.plan.text.plan_table import tabulate_partition
from netpart.proto.reader import read_job
from netpart.resources import zoo_folder
from tests.graph.jobs import data, job, layer, product


def cut(name: str, workers: int, *overrides: str, scheme: str | None = None) -> Partition:
    read = read_job(zoo_folder() / f"{name}.conf", overrides)
    return partition_by_scheme(read.proto, workers, read.folder, scheme)


def measure(found: PartitionDifference, what: str, whose: str) -> MeasureChange:
    return next(m for m in found.measures if (m.what, m.whose) == (what, whose))


@pytest.mark.parametrize("scheme", SCHEMES.names())
def test_nothing_differs_from_itself(scheme: str) -> None:
    found = compare_partitions(*(cut("schemes/five-layers", 3, scheme=scheme) for _ in range(2)))
    assert found.same
    assert all(m.before == m.after for m in found.measures)


def test_a_layer_that_is_cut_otherwise() -> None:
    before, after = cut("mnist/conv", 3), cut("mnist/conv", 3, "ip1.partition_dim=0")
    found = compare_partitions(before, after)
    assert found.layers == (LayerChange("ip1", "neurons 166+166+168 on 0, 1, 2", "batch 21+21+22 on 0, 1, 2"),)
    assert not found.same
    total = measure(found, "moves", "all")
    assert (total.before, total.after) == (compute_ledger(before).total, compute_ledger(after).total)
    assert total.ratio == compute_ledger(after).total / compute_ledger(before).total
    kinds = [m for m in found.measures if m.what == "moves" and m.whose != "all"]
    assert sum(m.after or 0 for m in kinds) == total.after
    workers = [measure(found, "memory", f"worker {w}").after for w in range(3)]
    assert workers == [row.memory for row in tabulate_partition(after).workers]
    assert measure(found, "memory", "most").after == max(row.memory for row in tabulate_partition(after).workers)


def test_every_message_with_payload_is_of_some_kind() -> None:
    jobs = [cut("schemes/five-layers", 2), cut("mnist/conv", 3, "updater.clip_norm=1", "shard_updates=YES")]
    assert {entry.channel.way for found in jobs for entry in compute_ledger(found).entries} == set(KINDS)


def test_workers_that_one_side_has_not() -> None:
    found = compare_partitions(cut("schemes/five-layers", 2), cut("schemes/five-layers", 3))
    third = measure(found, "FLOPs", "worker 2")
    assert third.before is None
    assert third.ratio is None


def test_a_layer_of_another_phase_is_told_alone() -> None:
    found = compare_partitions(cut("mnist/conv", 3), cut("mnist/conv", 3, "data@test.store_conf.batchsize=30"))
    assert {change.layer.partition("@")[2] for change in found.layers} == {"test"}
    assert measure(found, "moves", "all").ratio == 1


def test_layers_that_one_job_has_not() -> None:
    loss = layer("loss", "kSoftmaxLoss", "fc", "data")
    plain = job(data(), product("fc", "data", 4), loss)
    longer = job(data(), product("in", "data", 4), product("fc", "in", 4), loss)
    found = compare_partitions(partition_by_scheme(plain, 1), partition_by_scheme(longer, 1))
    assert found.layers == (LayerChange("in", None, "whole on 0"),)


def test_boxes_that_are_called_alike_are_listed() -> None:
    upper, lower = "shard { worker: %d region: [0, 3, 0, 4] } ", "shard { worker: %d region: [3, 6, 0, 4] } "
    jobs = [
        job(data(), product("fc", "data", 4, blocks), layer("loss", "kSoftmaxLoss", "fc", "data"))
        for blocks in (upper % 0 + lower % 1, lower % 0 + upper % 1)
    ]
    found = compare_partitions(*(partition_by_scheme(conf, 2) for conf in jobs))
    assert found.layers == (LayerChange("fc", "[0:3, :] [3:6, :]", "[3:6, :] [0:3, :]"),)
