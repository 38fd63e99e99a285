"""Blocks: a convolution with its batch norm and ReLU is one, and n of them are as even as can be."""

from __future__ import annotations

from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netpart.errors import ConfigError
from netpart.graph.build import build_net
from netpart.graph.net import Net
from netpart.plan.partition import partition_by_scheme
from netpart.plan.price.layer_loads import measured_profile, profile_net, work_rates
from netpart.plan.price.net_profile import LayerProfile, NetProfile
from netpart.plan.search.blocks import LayerBlock, group_layers
from netpart.plan.text.plan_table import tabulate_partition
from netpart.proto.reader import read_job
from netpart.resources import zoo_folder


def chain(*layers: tuple[str, float]) -> NetProfile:
    """Layers of a type and some work each."""
    made = tuple(LayerProfile(f"{i}", kind, work, 0.0, 0.0, 0.0) for i, (kind, work) in enumerate(layers))
    return NetProfile(made, tuple(pairwise(range(len(made)))))


def net_of(name: str) -> Net:
    job = read_job(zoo_folder() / f"{name}.conf")
    return build_net(job.proto, "train", job.folder)


def kinds(profile: NetProfile, found: list[LayerBlock]) -> list[str]:
    return [" ".join(profile.layers[i].kind for i in block.layers) for block in found]


def test_a_convolution_block_stands_alone_and_light_layers_are_grouped() -> None:
    profile = chain(
        ("Convolution", 9), ("BM", 1), ("ReLU", 1), ("Pooling", 1), ("Dropout", 1), ("Conv3d", 1), ("BatchNorm3d", 1),
        ("Add", 1), ("ReLU", 1), ("InnerProduct", 20), ("ReLU", 1), ("SoftmaxLoss", 1),
    )  # fmt: skip
    assert kinds(profile, group_layers(profile)) == [
        "Convolution BM ReLU", "Pooling Dropout", "Conv3d BatchNorm3d", "Add ReLU", "InnerProduct", "ReLU SoftmaxLoss",
    ]  # fmt: skip


def test_what_computes_nothing_goes_with_what_follows() -> None:
    profile = chain(("Reshape", 0), ("Convolution", 5), ("Concate", 0), ("Convolution", 5), ("Reshape", 0))
    assert kinds(profile, group_layers(profile)) == ["Reshape Convolution", "Concate Convolution Reshape"]


@given(works=st.lists(st.integers(0, 9).map(float), min_size=1, max_size=9), data=st.data())
def test_n_blocks_have_the_smallest_largest(works: list[float], data: st.DataObject) -> None:
    count = data.draw(st.integers(1, len(works)))
    profile = chain(*(("Linear", work) for work in works))
    natural = [0, *(block.layers.stop for block in group_layers(profile))] if sum(works) else [0, len(works)]
    found = group_layers(profile, count)
    assert [i for block in found for i in block.layers] == list(range(len(works)))
    assert len(found) == count
    cuts = natural if count < len(natural) else list(range(len(works) + 1))
    ways = ([0, *inner, len(works)] for inner in combinations(cuts[1:-1], count - 1))
    best = min(max(sum(works[a:b]) for a, b in pairwise(way)) for way in ways)
    assert max(block.work for block in found) == best


def test_there_are_at_least_as_many_as_devices() -> None:
    profile = chain(("Convolution", 5), ("ReLU", 1), ("Pooling", 1), ("Convolution", 5))
    assert [len(group_layers(profile, least=least)) for least in (1, 4, 9)] == [3, 4, 4]
    with pytest.raises(ConfigError, match="at most the 4 layers, got 5"):
        group_layers(profile, 5)


@pytest.mark.parametrize("name", ["resnet/resnet18-small", "mnist/conv"])
def test_loads_are_what_the_uncut_net_computes(name: str) -> None:
    job = read_job(zoo_folder() / f"{name}.conf")
    profile = profile_net(net_of(name), 4)
    for layer in job.proto.neuralnet.layer:
        layer.ClearField("partition_dim")
        layer.ClearField("location")
    table = tabulate_partition(partition_by_scheme(job.proto, 1, job.folder, "sequential"))
    flops = {row.name: row.flops for row in table.layers}
    assert {layer.name: layer.work for layer in profile.layers} == {
        layer.name: flops[layer.name] for layer in profile.layers
    }
    assert sum(layer.parameters for layer in profile.layers) >= 4 * table.parameters


def test_measured_work_takes_the_place_of_counted() -> None:
    counted = profile_net(net_of("mnist/conv"), 4)
    seconds = {layer.name: (2.0, 3.0) for layer in counted.layers}
    found = measured_profile(counted, seconds, 10.0)
    assert {(layer.forward, layer.backward) for layer in found.layers} == {(20.0, 30.0)}
    assert all(
        rate * layer.work == pytest.approx(50.0)
        for layer in counted.layers
        if (rate := work_rates(counted, found).get(layer.name))
    )
