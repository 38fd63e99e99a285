"""Who counts what of the gradient's norm: every element once, in equal shares, whoever holds it."""

from __future__ import annotations

import pytest

from netpart.graph.invariants import check_norm
from netpart.graph.partition import Partition
from netpart.graph.partition_codec import decode_partition, encode_partition
from netpart.graph.passes.norm import assign_norm_cells
from netpart.spec import Region, size
from tests.worker.jobs import LENET, partition

CLIPPED = "updater.clip_norm=1"


def counts(cut: Partition) -> list[int]:
    assert cut.norm is not None
    return [sum(size(cell.box) for cell in of_worker) for of_worker in cut.norm.counted]


def test_a_job_that_clips_no_norm_has_none() -> None:
    assert partition(LENET, 3).norm is None


@pytest.mark.parametrize("overrides", [(), ("neuralnet.micro_batches=3",), ("ip1.partition_dim=0",)])
def test_every_element_is_counted_once_where_it_is_held(overrides: tuple[str, ...]) -> None:
    cut = partition(LENET, 3, CLIPPED, *overrides)
    assert cut.norm is not None
    holdings = [[(h.parameter, h.box) for h in of_worker] for of_worker in cut.holdings]
    check_norm(cut.parameters, holdings, cut.norm.counted)
    assert cut.norm.workers == (0, 1, 2)
    found = counts(cut)
    assert max(found) - min(found) < max(found) / 10


def test_a_worker_without_parameters_takes_no_part() -> None:
    layers = ("conv1", "pool1", "conv2", "pool2", "ip1", "relu1", "drop1", "ip2")
    whole = [f"{name}.{field}" for name in layers for field in ("partition_dim=-1", "location=1")]
    cut = partition(LENET, 3, CLIPPED, *whole)
    assert cut.norm is not None
    assert cut.norm.workers == (1,)
    assert [n > 0 for n in counts(cut)] == [False, True, False]


def test_holders_of_a_cell_share_it() -> None:
    held: dict[int, list[Region]] = {0: [((0, 8), (0, 3))], 2: [((4, 12), (0, 3))], 5: [((4, 12), (0, 3))]}
    found = list(assign_norm_cells(held))
    assert sum(size(box) for _, box in found) == 12 * 3
    assert {w: sum(size(b) for v, b in found if v == w) for w in held} == {0: 15, 2: 9, 5: 12}


def test_a_number_alone_is_counted_by_its_first_holder() -> None:
    assert list(assign_norm_cells({3: [()], 4: [()]})) == [(3, ())]


def test_a_plan_carries_a_workers_share() -> None:
    cut = partition(LENET, 3, CLIPPED)
    assert cut.norm is not None
    for worker in range(3):
        found, _ = decode_partition(encode_partition(cut, worker))
        assert found.norm is not None
        assert found.norm.workers == cut.norm.workers
        mine = [(c.parameter.name, c.box) for c in found.norm.counted[worker]]
        assert mine == [(c.parameter.name, c.box) for c in cut.norm.counted[worker]]
