"""What --set takes for another cut of a layer."""

from __future__ import annotations

from pathlib import Path

import pytest

from netpart.graph.partition import Partition
from netpart.plan.partition import partition_by_scheme, with_scheme
from netpart.plan.price.ledger import compute_ledger
from netpart.plan.text.alike_alternatives import KINDS, alternatives_by_layer
from netpart.plan.text.alternatives import find_alternatives
from netpart.plan.text.cut_settings import cut_settings
from netpart.proto.cut_pb2 import CutProto
from netpart.proto.job_pb2 import LayerProto
from netpart.proto.reader import Job, read_job
from netpart.resources import zoo_folder


def zoo_job(name: str, *settings: str) -> Job:
    return read_job(zoo_folder() / f"{name}.conf", settings)


def test_fields_of_the_present_cut_are_cleared() -> None:
    layer = LayerProto(name="fc1", partition_dim=1, location=[0, 1])
    cut = LayerProto(cut=[CutProto(over=CutProto.REPLICA, parts=4)], sum_gradient=True)
    assert cut_settings(layer, cut) == [
        "fc1.partition_dim=", "fc1.location=", "fc1.cut[0].over=REPLICA", "fc1.cut[0].parts=4", "fc1.sum_gradient=true",
    ]  # fmt: skip
    assert cut_settings(layer, LayerProto(partition_dim=0)) == ["fc1.location=", "fc1.partition_dim=0"]
    assert cut_settings(layer, LayerProto(location=[2, 3])) == ["fc1.partition_dim=", "fc1.location=2,3"]


@pytest.mark.parametrize(
    ("name", "layer"), [("mnist/conv", "ip1"), ("mnist/conv", "conv1"), ("halo/conv-rows", "conv2")]
)
def test_settings_give_the_bytes_that_are_promised(name: str, layer: str) -> None:
    job = zoo_job(name)
    partition = partition_by_scheme(job.proto, 3, job.folder)
    others = [cut for cut in find_alternatives(partition, layer, job.folder) if not cut.present]
    assert others
    for cut in others:
        again = zoo_job(name, *cut.settings)
        assert compute_ledger(partition_by_scheme(again.proto, 3, again.folder)).total == cut.moved, cut


@pytest.mark.parametrize("layer", ["ip1", "conv1"])
def test_they_hold_where_a_scheme_overrides_the_cuts_of_the_job(layer: str) -> None:
    def cut_of(*settings: str) -> Partition:
        job = zoo_job("mnist/conv", *settings)
        proto = with_scheme(job.proto, "data", True, job.overridden)
        return partition_by_scheme(proto, 3, job.folder)

    others = [cut for cut in find_alternatives(cut_of(), layer) if not cut.present]
    assert others
    for cut in others:
        assert compute_ledger(cut_of(*cut.settings)).total == cut.moved, cut


@pytest.mark.parametrize("scheme", ["column-row", "data"])
def test_alike_layers_have_the_alternatives_of_one(scheme: str) -> None:
    job = zoo_job("gpt/gpt2-small")
    partition = partition_by_scheme(job.proto, 2, job.folder, scheme)
    found = alternatives_by_layer(partition, job.folder)
    own = {tuple((cut.cut, cut.moved, cut.flops) for cut in cuts) for cuts in found.values()}
    assert len(own) <= KINDS < len(found)
    for name in list(found)[::7]:
        assert list(found[name]) == find_alternatives(partition, name, job.folder)


def test_layers_where_nothing_is_sent_have_none(tmp_path: Path) -> None:
    job = zoo_job("mnist/conv")
    assert alternatives_by_layer(partition_by_scheme(job.proto, 1, job.folder), tmp_path) == {}
