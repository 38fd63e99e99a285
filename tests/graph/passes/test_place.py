"""From what a job says to who holds what: cuts, remainders, fall-backs, and every refusal with its place."""

from __future__ import annotations

import pytest

from netpart.errors import ConfigError, FieldPath
from netpart.graph.build import build_net
from netpart.graph.passes.place import place_layers
from netpart.graph.passes.placer import CutFallback
from netpart.graph.passes.uneven_cuts import cut_by_sizes, cut_extent
from netpart.spec import Placement
from tests.graph.jobs import data, job, layer, product

CONV = "convolution_conf { num_filters: 4 kernel: 3 } param { init { type: kGaussian } }"


def placed(cut: str, kind: str = "conv", workers: int = 3, net: str = "") -> tuple[Placement, list[CutFallback]]:
    """The placement of one layer of a net whose layers are whole but for it: rows 8, channels 4, space 6 x 6."""
    named = {
        "data": data(8, "shape: 3 shape: 8 shape: 8", more=cut if kind == "data" else "partition_dim: -1"),
        "conv": layer("conv", "kConvolution", "data", more=f"{CONV} {cut if kind == 'conv' else ''}"),
        "top": product("top", "conv", 4, cut if kind == "top" else ""),
        "loss": layer("loss", "kSoftmaxLoss", "top", "data", more=cut if kind == "loss" else ""),
    }
    conf = job(*named.values(), net or "partition_dim: -1")
    result = place_layers(build_net(conf), conf.neuralnet, workers)
    index = list(named).index(kind)
    return result.placements[index], result.fallbacks


def workers_and(axis: int, placement: Placement) -> list[tuple[int, tuple[int, int]]]:
    return [(shard.worker, shard.region[axis]) for shard in placement.shards]


@pytest.mark.parametrize(
    ("cut", "axis", "expected"),
    [
        ("partition_dim: 0", 0, [(0, (0, 2)), (1, (2, 4)), (2, (4, 8))]),
        ("partition_dim: 0 remainder: SPREAD", 0, [(0, (0, 2)), (1, (2, 5)), (2, (5, 8))]),
        ("partition_dim: 1 location: [2, 0]", 1, [(2, (0, 2)), (0, (2, 4))]),
        ("partition_dim: 2 location: [0, 1, 2, 0]", 2, [(0, (0, 1)), (1, (1, 3)), (2, (3, 4)), (0, (4, 6))]),
        ("location: 2", 0, [(2, (0, 8))]),
        ("cut { axis: 0 sizes: [1, 7] location: [1, 1] }", 0, [(1, (0, 1)), (1, (1, 8))]),
        ("cut { parts: 2 } location: [1, 0]", 0, [(1, (0, 4)), (0, (4, 8))]),
        ("cut { over: REPLICA parts: 2 }", 0, [(0, (0, 8)), (1, (0, 8))]),
    ],
)
def test_a_cut_is_taken_as_written(cut: str, axis: int, expected: list[tuple[int, tuple[int, int]]]) -> None:
    placement, fallbacks = placed(cut)
    assert workers_and(axis, placement) == expected
    assert not fallbacks


def test_a_grid_counts_its_cells_in_row_major_order() -> None:
    placement, _ = placed("cut { axis: 0 parts: 2 } cut { over: INPUT sizes: [1, 2] } location: [0, 1, 2, 0]")
    assert [(s.worker, s.region[0], s.term) for s in placement.shards] == [
        (0, (0, 4), ((0, 1),)), (1, (0, 4), ((1, 3),)), (2, (4, 8), ((0, 1),)), (0, (4, 8), ((1, 3),)),
    ]  # fmt: skip


def test_the_contraction_of_an_inner_product_is_a_box_of_its_input() -> None:
    placement, _ = placed("cut { over: INPUT parts: 2 }", "top")
    assert [s.term for s in placement.shards] == [((0, 2), (0, 6), (0, 6)), ((2, 4), (0, 6), (0, 6))]


def test_an_inherited_cut_falls_back_and_says_so() -> None:
    placement, fallbacks = placed("", "loss", net="partition_dim: 1")
    assert workers_and(0, placement) == [(0, (0, 2)), (1, (2, 4)), (2, (4, 8))]
    assert CutFallback("loss", 1, "batch") in fallbacks
    assert placed("", "data", net="partition_dim: 1")[0].workers == (0,)


def test_repeated_batchsize_gives_each_part_its_rows() -> None:
    conf = job(data(1, "batchsize: 5 shape: 4", more="partition_dim: 0 location: [0, 1]"), product("top", "data", 4))
    result = place_layers(build_net(conf), conf.neuralnet, 2)
    assert workers_and(0, result.placements[0]) == [(0, (0, 1)), (1, (1, 6))]


def test_parts_of_a_micro_batch_may_be_empty_but_never_the_batch() -> None:
    conf = job(data(6, more="partition_dim: 0 location: [0, 1, 2, 0]"), product("top", "data", 4))
    result = place_layers(build_net(conf, rows=2), conf.neuralnet, 3, 6)
    assert sum(hi - lo for _, (lo, hi) in workers_and(0, result.placements[0])) == 2
    assert len(result.placements[0].shards) < 4


MISTAKES: dict[str, tuple[str, str, str, FieldPath]] = {
    "an axis it has not": ("conv", "partition_dim: 4", "a cut on axis 0 (batch)", ("partition_dim",)),
    "an axis it cannot cut": ("loss", "partition_dim: 2", "a cut on axis 0 (batch) or 1", ("partition_dim",)),
    "features of an input": ("data", "partition_dim: 1", "a cut on axis 0 (batch)", ("partition_dim",)),
    "too short": ("conv", "partition_dim: 1 location: [0, 1, 2, 0, 1]", "got 4", ("partition_dim",)),
    "beyond the workers": ("conv", "location: [0, 3]", "run with --workers 4", ("location", 1)),
    "whole in two places": ("conv", "partition_dim: -1 location: [0, 1]", "one location", ("partition_dim",)),
    "sizes": ("conv", "cut { axis: 1 sizes: [1, 2] }", "2 sizes that sum to 4", ("cut", 0)),
    "input of a loss": ("loss", "cut { over: INPUT }", "a cut on an axis", ("cut", 0)),
    "input too short": ("conv", "cut { over: INPUT parts: 4 } location: [0, 1, 2, 0]", "got 3", ("cut", 0)),
    "two lists": ("conv", "cut { parts: 2 location: [0, 1] } location: [0, 1]", "one list of locations", ("cut",)),
    "too few locations": ("conv", "cut { axis: 0 parts: 2 } cut { axis: 1 parts: 2 } location: [0, 1]", "4 parts",
                          ("cut",)),
    "too few workers": ("conv", "cut { axis: 0 parts: 4 }", "run with --workers 4", ("cut",)),
    "two cuts of one axis": ("conv", "cut { axis: 0 parts: 2 } cut { axis: 0 parts: 2 } location: [0, 1, 2, 0]",
                             "one cut of axis 0", ("cut", 1)),
    "copies on one worker": ("conv", "cut { over: REPLICA parts: 2 location: [1, 1] }", "different workers", ("cut",)),
    "copies of a size": ("conv", "cut { over: REPLICA sizes: [1, 1] }", "no sizes", ("cut", 0, "sizes")),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_a_cut_that_cannot_be_taken_is_refused_where_it_is_written(name: str) -> None:
    kind, cut, says, at = MISTAKES[name]
    with pytest.raises(ConfigError) as caught:
        placed(cut, kind)
    assert caught.value.who == kind
    assert says in str(caught.value)
    index = ["data", "conv", "top", "loss"].index(kind)
    assert caught.value.at == ("neuralnet", "layer", index, *at)


def test_ranges_tile_the_extent() -> None:
    assert cut_extent(8, 3, spread=False) == ((0, 2), (2, 4), (4, 8))
    assert cut_extent(8, 3, spread=True) == ((0, 2), (2, 5), (5, 8))
    assert cut_by_sizes([1, 3], 4) == ((0, 1), (1, 4))
    assert cut_by_sizes([1, 3], 2) == ((0, 0), (0, 2))
