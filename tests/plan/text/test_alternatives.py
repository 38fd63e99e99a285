"""Other cuts of a layer: their price is that of the job that has them, and the way to write them is right."""

from __future__ import annotations

import pytest

from netpart.plan.partition import partition
from netpart.plan.price.ledger import ledger
from netpart.plan.text.alternatives import alternatives
from netpart.plan.text.plan_table import tabulate
from netpart.plan.text.write_plan import planned
from netpart.proto.job_pb2 import JobProto
from netpart.proto.reader import load, loads
from netpart.proto.writer import CUT, write_job
from netpart.resources import zoo_folder

JOBS = [
    ("mnist/conv", "ip1", 3),
    ("halo/conv-rows", "conv2", 3),
    ("mlp/column-row", "fc2", 4),
    ("mnist/conv", "loss", 2),
]


def rewritten(job: JobProto, name: str, text: str) -> JobProto:
    """``job`` with the cut of one layer replaced by ``text``."""
    proto = loads(write_job(job)).proto
    (conf,) = [conf for conf in proto.neuralnet.layer if conf.name == name]
    for field in CUT:
        conf.ClearField(field)
    conf.MergeFrom(loads(f'neuralnet {{ layer {{ name: "{name}" {text} }} }}').proto.neuralnet.layer[0])
    return proto


@pytest.mark.parametrize(("name", "layer", "workers"), JOBS)
def test_an_alternative_costs_what_the_job_that_has_it_costs(name: str, layer: str, workers: int) -> None:
    job = load(zoo_folder() / f"{name}.conf")
    now = partition(job.proto, workers, job.folder)
    plan = planned(job.proto, now)
    found = alternatives(now, layer, job.folder)
    assert [a.moved for a in found] == sorted(a.moved for a in found)
    assert [a.moved for a in found if a.present] == [ledger(now).total]
    assert len({a.cut for a in found}) == len(found) > 2
    for other in found:
        again = partition(rewritten(plan, layer, other.written), workers, job.folder)
        assert ledger(again).total == other.moved
        assert max(worker.flops for worker in tabulate(again).workers) == other.flops


def test_micro_batches_are_counted_together() -> None:
    whole = load(zoo_folder() / "halo" / "conv-rows.conf")
    found = [
        alternatives(partition(job.proto, 2, job.folder), "ip3", job.folder)
        for job in (whole, load(whole.name, ["neuralnet.micro_batches=2"]))
    ]
    cuts = [{a.cut.split()[0]: a.flops for a in of_job} for of_job in found]
    assert cuts[0]["whole"] == cuts[1]["whole"]


def test_one_part_is_no_cut() -> None:
    job = load(zoo_folder() / "mnist" / "conv.conf")
    found = alternatives(partition(job.proto, 2, job.folder), "conv1", job.folder)  # of images of one channel
    assert [a.cut for a in found].count("whole on 0") == 1


def test_records_stay_with_their_readers() -> None:
    job = load(zoo_folder() / "seed" / "conv-mnist.conf")
    assert alternatives(partition(job.proto, 2, job.folder), "data", job.folder) == []


def test_one_worker_has_no_choice() -> None:
    job = load(zoo_folder() / "halo" / "conv-rows.conf")
    assert [a.written for a in alternatives(partition(job.proto, 1, job.folder), "ip3", job.folder)] == [
        "partition_dim: -1"
    ]
