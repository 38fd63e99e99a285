"""Like layers: blocks that repeat are one kind, and what their shards need is asked once."""

from __future__ import annotations

from netpart.graph.build import build_net
from netpart.graph.net import Net
from netpart.plan.price.like_layers import LikeLayers
from netpart.proto.reader import read_job
from netpart.resources import zoo_folder
from netpart.spec import Shard


def gpt_net() -> Net:
    job = read_job(zoo_folder() / "gpt/gpt2-small.conf")
    return build_net(job.proto, "train", job.folder)


def test_what_is_known_of_a_kind_is_true_of_each_of_its_layers() -> None:
    layers = LikeLayers()
    net = gpt_net()
    for node in net.nodes:
        shard = Shard(0, node.layer.output.whole)
        assert layers.needs(node.layer, shard) == node.layer.needs(shard.region, shard.term)
        assert layers.kind(node.layer) == layers.kind(node.layer)


def test_layers_of_equal_blocks_are_of_one_kind() -> None:
    layers = LikeLayers()
    net = gpt_net()
    kinds = {layers.kind(node.layer) for node in net.nodes}
    assert len(kinds) < 0.7 * len(net.nodes)
    assert len({(type(node.layer), node.layer.inputs, node.layer.outputs) for node in net.nodes}) <= len(kinds)
