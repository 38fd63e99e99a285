"""Who updates what of a parameter that several workers hold: boxes that tile it, one for each of them."""

from __future__ import annotations

import pytest

from netpart.errors import ConfigError
from netpart.graph.holdings import home_regions
from netpart.graph.partition import Partition
from netpart.graph.partition_codec import decode_partition, encode_partition
from netpart.graph.passes.update_sharding import LARGE, NEVER, sharding_threshold
from netpart.proto.reader import read_job_text
from netpart.spec import size, whole_region
from tests.worker.jobs import LENET, partition

YES = "shard_updates=YES"
BATCH = ("ip1.partition_dim=0", "relu1.partition_dim=0", "drop1.partition_dim=0")


def updated(cut: Partition, name: str) -> list[int]:
    """Elements of a parameter that each worker updates."""
    return [sum(size(h.home) for h in held if h.parameter.name == name) for held in cut.holdings]


def test_homes_are_rows_or_else_a_range_of_the_longest_axis() -> None:
    assert home_regions(((2, 9), (0, 3)), 3) == (((2, 4), (0, 3)), ((4, 6), (0, 3)), ((6, 9), (0, 3)))
    assert home_regions(((0, 1), (0, 4)), 2) == (((0, 1), (0, 2)), ((0, 1), (2, 4)))


def test_what_has_fewer_elements_than_workers_has_no_homes() -> None:
    assert home_regions(((0, 2),), 3) == ()
    assert home_regions((), 2) == ()


@pytest.mark.parametrize("workers", [2, 3])
def test_every_element_is_updated_once(workers: int) -> None:
    cut = partition(LENET, workers, YES, *BATCH)
    for parameter in cut.parameters:
        found = updated(cut, parameter.name)
        assert sum(found) == size(whole_region(parameter.spec.shape))
        assert min(found) > 0
    assert all(bucket.sharded and len(bucket.cells) == 1 for bucket in cut.buckets)


def test_what_nobody_else_holds_is_updated_where_it_is() -> None:
    cut = partition(LENET, 3, YES, "ip1.partition_dim=1")
    held = [h for of_worker in cut.holdings for h in of_worker if h.parameter.name == "ip1/w3"]
    assert len(held) == 3
    assert all(h.home == h.box for h in held)


@pytest.mark.parametrize("overrides", [("shard_updates=NO",), (), (YES, "updater.ema_decay=0.5")])
def test_small_gradients_are_updated_by_everybody_unless_the_job_says_so(overrides: tuple[str, ...]) -> None:
    cut = partition(LENET, 2, *overrides)
    assert any(bucket.sharded for bucket in cut.buckets) == (YES in overrides)


def test_large_gradients_are_shared_out() -> None:
    wide = ("ip1.innerproduct_conf.num_output=6000", *BATCH)
    cut = partition(LENET, 2, *wide)
    (bucket,) = (bucket for bucket in cut.buckets if bucket.sharded)
    assert [c.parameter.name for c in bucket.cells] == ["ip1/w3"]
    assert 4 * bucket.elements >= LARGE > 4 * max(b.elements for b in cut.buckets if not b.sharded)
    assert not any(bucket.sharded for bucket in partition(LENET, 2, *wide, "shard_updates=NO").buckets)


def test_running_statistics_have_no_home() -> None:
    norm = 'layer { name: "norm" type: kBM srclayers: "conv2" partition_dim: 0 }'
    text = LENET.replace('srclayers: "conv2"', 'srclayers: "norm"').replace(
        'layer {\n    name: "pool2"', norm + '\n  layer {\n    name: "pool2"'
    )
    cut = partition(text, 2, YES)
    running = [h for held in cut.holdings for h in held if h.parameter.spec.running is not None]
    assert running
    assert all(h.part is None for h in running)


def test_averages_that_are_tested_are_updated_by_everybody() -> None:
    averaged = ("updater.ema_decay=0.5", "updater.ema_eval=true")
    assert sharding_threshold(read_job_text(LENET, overrides=averaged).proto) == NEVER
    with pytest.raises(ConfigError, match=r"shard_updates: expected AUTO or NO, with updater.ema_eval, got YES"):
        partition(LENET, 2, YES, *averaged)


def test_a_plan_carries_homes() -> None:
    cut = partition(LENET, 3, YES)
    for worker in range(3):
        found, _ = decode_partition(encode_partition(cut, worker))
        assert [h.home for h in found.holdings[worker]] == [h.home for h in cut.holdings[worker]]
        assert [(b.workers, b.sharded, b.homes if b.sharded else ()) for b in found.buckets] == [
            (b.workers, b.sharded, b.homes if b.sharded else ()) for b in cut.buckets
        ]
