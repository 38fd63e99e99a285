"""A plan is the partition it was written from: read back, it gives the same placements, graphs, bytes and text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netpart.families import SCHEMES
from netpart.graph.graph import Graph
from netpart.graph.net import Net
from netpart.graph.partition import Partition, partition_job
from netpart.graph.recomputed import layers_recomputed
from netpart.plan.partition import partition_by_scheme
from netpart.plan.price.ledger import compute_ledger
from netpart.plan.text.write_plan import write_plan
from netpart.proto.job_pb2 import JobProto
from netpart.proto.reader import Job, read_job_text
from netpart.spec import Placement
from tests.laws.nets import Example, cut, examples, nets
from tests.laws.nets import tested as give_test_net
from tests.laws.placements import Placed, placed_jobs
from tests.thorough import example_count


def check_round_trip(job: JobProto, found: Partition) -> None:
    """The law, for the plan of ``job`` as ``found`` cuts it."""
    text = write_plan(Job(job, None, "job", ""), found, "the law", Path())
    plan = read_job_text(text)
    again = partition_by_scheme(plan.proto, found.workers)
    assert plan.proto.cluster.nworkers_per_group == found.workers
    assert list(again.phases) == list(found.phases)
    assert layers_recomputed(plan.proto.neuralnet) == layers_recomputed(job.neuralnet)
    for phase, micros in found.phases.items():
        assert [drawn(micro.graph) for micro in again.phases[phase]] == [drawn(micro.graph) for micro in micros]
        assert compute_ledger(again, phase) == compute_ledger(found, phase)
    assert write_plan(plan, again, "the law", Path()) == text


def drawn(graph: Graph) -> Any:
    """All there is to a graph: who holds what, and what feeds what. Only training has gradients to sum."""
    training = graph.net.phase == "train"
    placements = [placement if training else placement.shards for placement in graph.placements]
    parts = [(p.name, p.kind, p.worker, p.region, p.term, p.live, p.trains, p.owned) for p in graph.parts]
    feeds = [[(f.part.name, f.region, f.k, f.output, f.gradient) for f in p.feeds] for p in graph.parts]
    return placements, parts, feeds


@settings(max_examples=example_count(28))
@given(example=examples())
def test_what_a_job_says_is_said_again(example: Example) -> None:
    check_round_trip(example.job, partition_job(example.job, example.workers))


@settings(max_examples=example_count(28))
@given(placed=placed_jobs())
def test_any_placement_can_be_said(placed: Placed) -> None:
    before: list[list[Placement]] = []

    def placer(net: Net) -> list[Placement]:
        """Micro-batches of all sizes sum the gradients of the same replicas: that is said of a layer."""
        placements = placed.placer(net)
        before.append(placements)
        return [replace(p, sum_gradient=q.sum_gradient) for p, q in zip(placements, before[0], strict=True)]

    check_round_trip(placed.job, partition_job(placed.job, placed.workers, placer=placer))


@pytest.mark.parametrize("scheme", SCHEMES.names())
@settings(max_examples=10)
@given(draw=st.data(), workers=st.integers(2, 5), written=st.booleans())
def test_every_scheme_can_be_said(scheme: str, draw: st.DataObject, workers: int, written: bool) -> None:
    sketch = draw.draw(nets())
    if written:
        cut(sketch, workers)
    if draw.draw(st.booleans()):
        give_test_net(sketch)
    check_round_trip(sketch.job, partition_by_scheme(sketch.job, workers, scheme=scheme))
