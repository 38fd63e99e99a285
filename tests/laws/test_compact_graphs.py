"""Law: a compact graph has the collectives, the ledger, the Programs and the figures of the graph with all bridges."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings

from netpart.graph.graph import BRIDGE_DST, GIVE, TAKE
from netpart.graph.partition import Partition, partition_job
from netpart.plan.partition import partition_by_scheme
from netpart.plan.price.devices import equal_devices
from netpart.plan.price.ledger import compute_ledger
from netpart.plan.price.predict import predict_step
from netpart.plan.price.worker_shares import layer_shares
from netpart.plan.text.plan_table import tabulate_partition
from netpart.program.compile import compile_worker
from netpart.proto.reader import read_job
from netpart.updaters import build_updater
from tests.laws.nets import Example, examples
from tests.thorough import example_count

GRAPHS = Path(__file__).parents[2] / "graphs"
CUTS = [("DATA", 3, 1), ("DATA", 2, 2)]


@given(example=examples())
@settings(max_examples=example_count(40))
def test_compact_graphs_of_random_nets(example: Example) -> None:
    every, compact = (partition_job(example.job, example.workers, compact=each) for each in (False, True))
    assert_equal_plans(every, compact)


@pytest.mark.parametrize(("scheme", "workers", "micro_batches"), CUTS)
def test_compact_graphs_of_batch_norms(scheme: str, workers: int, micro_batches: int) -> None:
    job = read_job(GRAPHS / "resnet/resnet18-small.conf", [])
    job.proto.neuralnet.micro_batches = micro_batches
    every, compact = (
        partition_by_scheme(job.proto, workers, job.folder, scheme, compact=each) for each in (False, True)
    )
    assert_equal_plans(every, compact)
    assert count_kind(compact, GIVE) == count_kind(compact, TAKE) > 0
    assert count_kind(compact, BRIDGE_DST) < count_kind(every, BRIDGE_DST)


def assert_equal_plans(every: Partition, compact: Partition) -> None:
    """Compare the collectives, the ledger and what all Programs consist of; of a net that trains also the tables."""
    for phase in every.phases:
        ours, theirs = ([repr(flow) for flow in compute_ledger(cut, phase).flows] for cut in (compact, every))
        assert ours == theirs
        for one, other in zip(compact.phases[phase], every.phases[phase], strict=True):
            assert [vars(c) for c in one.graph.collectives] == [vars(c) for c in other.graph.collectives]
    slots = len(build_updater(every.job.updater).states)
    for worker in range(every.workers):
        assert program_contents(compact, worker, slots) == program_contents(every, worker, slots)
    if "train" in every.phases:
        devices = equal_devices(every.workers, 1e9)
        assert predict_step(compact, devices) == predict_step(every, devices)
        assert tabulate_partition(compact) == tabulate_partition(every)
        assert layer_shares(compact) == layer_shares(every)


def program_contents(cut: Partition, worker: int, slots: int) -> list[object]:
    """All that the Programs of a worker consist of, without the graphs that they were compiled from."""
    found = compile_worker(cut, worker, slots)
    phases = [
        (p.instructions, p.offsets, p.arena, p.copies, p.depth, p.values, p.gradients) for p in found.phases.values()
    ]
    return [found.buffers, phases]


def count_kind(cut: Partition, kind: str) -> int:
    return sum(part.kind == kind for part in cut.graph.parts)
