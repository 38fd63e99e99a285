"""Other cuts of a layer: their price is that of the job that has them, and the way to write them is right."""

from __future__ import annotations

import pytest

from netpart.plan.partition import partition_by_scheme
from netpart.plan.price.ledger import compute_ledger
from netpart.plan.text.alternatives import find_alternatives
from netpart.plan.text.plan_table import tabulate_partition
from netpart.plan.text.write_plan import with_placements
from netpart.proto.job_pb2 import JobProto
from netpart.proto.reader import read_job, read_job_text
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
    proto = read_job_text(write_job(job)).proto
    (conf,) = [conf for conf in proto.neuralnet.layer if conf.name == name]
    for field in CUT:
        conf.ClearField(field)
    conf.MergeFrom(read_job_text(f'neuralnet {{ layer {{ name: "{name}" {text} }} }}').proto.neuralnet.layer[0])
    return proto


@pytest.mark.parametrize(("name", "layer", "workers"), JOBS)
def test_an_alternative_costs_what_the_job_that_has_it_costs(name: str, layer: str, workers: int) -> None:
    job = read_job(zoo_folder() / f"{name}.conf")
    now = partition_by_scheme(job.proto, workers, job.folder)
    plan = with_placements(job.proto, now)
    found = find_alternatives(now, layer, job.folder)
    assert [a.moved for a in found] == sorted(a.moved for a in found)
    assert [a.moved for a in found if a.present] == [compute_ledger(now).total]
    assert len({a.cut for a in found}) == len(found) > 2
    for other in found:
        again = partition_by_scheme(rewritten(plan, layer, other.written), workers, job.folder)
        assert compute_ledger(again).total == other.moved
        assert max(worker.flops for worker in tabulate_partition(again).workers) == other.flops


def test_micro_batches_are_counted_together() -> None:
    whole = read_job(zoo_folder() / "halo" / "conv-rows.conf")
    found = [
        find_alternatives(partition_by_scheme(job.proto, 2, job.folder), "ip3", job.folder)
        for job in (whole, read_job(whole.name, ["neuralnet.micro_batches=2"]))
    ]
    cuts = [{a.cut.split()[0]: a.flops for a in of_job} for of_job in found]
    assert cuts[0]["whole"] == cuts[1]["whole"]


def test_one_part_is_no_cut() -> None:
    job = read_job(zoo_folder() / "mnist" / "conv.conf")
    found = find_alternatives(
        partition_by_scheme(job.proto, 2, job.folder), "conv1", job.folder
    )  # of images of one channel
    assert [a.cut for a in found].count("whole on 0") == 1


def test_records_stay_with_their_readers() -> None:
    job = read_job(zoo_folder() / "seed" / "conv-mnist.conf")
    assert find_alternatives(partition_by_scheme(job.proto, 2, job.folder), "data", job.folder) == []


def test_one_worker_has_no_choice() -> None:
    job = read_job(zoo_folder() / "halo" / "conv-rows.conf")
    assert [a.written for a in find_alternatives(partition_by_scheme(job.proto, 1, job.folder), "ip3", job.folder)] == [
        "partition_dim: -1"
    ]
