"""Plans as bytes: what comes out is what went in, and rubbish is refused."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netpart.errors import NetpartError
from netpart.graph.graph import Part
from netpart.graph.partition import Partition, partition_job
from netpart.graph.partition_codec import decode_partition, encode_partition
from netpart.proto.reader import read_job
from netpart.resources import zoo_folder


@pytest.fixture(scope="module")
def partition() -> Partition:
    job = read_job(zoo_folder() / "halo" / "conv-rows.conf", ["neuralnet.micro_batches=3"])
    return partition_job(job.proto, 3, job.folder)


@pytest.mark.parametrize("worker", range(3))
def test_a_worker_gets_its_own_parts(partition: Partition, worker: int) -> None:
    found, rank = decode_partition(encode_partition(partition, worker))
    assert rank == worker
    for phase, micros in partition.phases.items():
        for sent, got in zip(micros, found.phases[phase], strict=True):
            own = [p for p in sent.graph.parts if p.worker == worker]
            assert sent.rows == got.rows
            assert [described(p) for p in own] == [described(p) for p in got.graph.parts]
    assert [(h.parameter.name, h.box) for h in partition.holdings[worker]] == [
        (h.parameter.name, h.box) for h in found.holdings[worker]
    ]


def described(part: Part) -> tuple[object, ...]:
    """Everything about a part that a program is compiled from."""
    feeds = [(f.part.index, f.region, f.k, f.output, f.gradient) for f in part.feeds]
    peer = part.peer and (part.peer.index, part.peer.worker)
    members = [(m.index, m.worker) for m in part.members]
    own = (part.kind, part.name, part.node, part.region, part.output, part.term, part.owned, part.reports)
    return (*own, part.live, part.trains, peer, members, feeds)


@given(st.data())
def test_rubbish_raises_nothing_but_our_errors(partition: Partition, data: st.DataObject) -> None:
    plan = bytearray(encode_partition(partition, 1))
    for _ in range(data.draw(st.integers(1, 4))):
        plan[data.draw(st.integers(0, len(plan) - 1))] = data.draw(st.integers(0, 255))
    with suppress(NetpartError):
        decode_partition(bytes(plan[: data.draw(st.integers(0, len(plan)))]))
