"""Sharded updates: made as soon as the sum has come, and to the bit those that everybody makes."""

from __future__ import annotations

import numpy as np
import pytest

from netpart.plan.price.ledger import compute_ledger
from netpart.plan.text.plan_table import tabulate_partition
from netpart.program.buffers import FIXED, Buffer, View
from netpart.program.compile import compile_worker
from netpart.program.exchange import plan_exchange
from netpart.program.instructions import (
    Channel,
    CollectiveStart,
    CollectiveWait,
    Copy,
    Instruction,
    Update,
    Way,
    Zero,
)
from netpart.program.passes.overlap_updates import overlap_updates
from netpart.spec import size
from netpart.worker.ensemble import Ensemble
from tests.worker.jobs import LENET, partition

BATCH = ("ip1.partition_dim=0", "relu1.partition_dim=0", "drop1.partition_dim=0")
BUFFERS = [Buffer(name, (4,), "float", FIXED) for name in ("w", "dw", "other")]
W, DW, OTHER = (View(b, ((0, 4),)) for b in range(3))
HOMES = (((0, 2),), ((2, 4),))


def half(kind: str, way: Way, view: View) -> CollectiveStart:
    found = plan_exchange(kind, (0, 1), ((0, 4),), HOMES, "direct", 4)
    blocks = tuple(View(view.buffer, home) for home in HOMES)
    return CollectiveStart(found, blocks, blocks, None, "float", Channel(1, way, 0, 0), kind)


UPDATE = Update(0, W, (DW,))
SUM, GATHER = half("reduce-scatter", Way.BUCKET, DW), half("all-gather", Way.VALUES, W)
TAIL: list[Instruction] = [CollectiveWait(SUM), UPDATE, GATHER, CollectiveWait(GATHER)]


def test_an_update_follows_its_sum() -> None:
    start, zero, wait, end = overlap_updates(BUFFERS, [SUM, Zero(OTHER), *TAIL])
    assert isinstance(start, CollectiveStart)
    assert start.then == (UPDATE, GATHER)
    assert (zero, wait, end) == (Zero(OTHER), CollectiveWait(start), CollectiveWait(GATHER))


@pytest.mark.parametrize("late", [Copy(OTHER, W), Zero(DW)])
def test_values_that_are_read_meanwhile_are_updated_at_the_end(late: Instruction) -> None:
    before: list[Instruction] = [SUM, late, *TAIL]
    assert overlap_updates(BUFFERS, before) == before


def test_an_update_that_needs_the_norm_stays() -> None:
    before: list[Instruction] = [SUM, Zero(OTHER), TAIL[0], Update(0, W, (DW,), OTHER), *TAIL[2:]]
    assert overlap_updates(BUFFERS, before) == before


def test_in_a_step_no_sharded_update_waits_for_the_end_of_backward() -> None:
    found = compile_worker(partition(LENET, 2, "shard_updates=YES", *BATCH), 0).phases["train"].instructions
    assert not [i for i in found if isinstance(i, Update)]
    sums = [i for i in found if isinstance(i, CollectiveStart)]
    assert len(sums) == 8
    assert all(len(i.then) == 2 for i in sums)


RULES = ("kSGD", "kNesterov", "kAdaGrad", "kRMSProp", "kAdaDelta", "kAdam", "kAdamMax", "kAdamW")
OTHERS = ("updater.clip_norm=0.1", "updater.ema_decay=0.5", "neuralnet.micro_batches=3", "neuralnet.recompute=true")


def trained(workers: int, *overrides: str) -> tuple[Ensemble, dict[str, np.ndarray]]:
    ensemble = Ensemble(partition(LENET, workers, *overrides), order=5, poison=True)
    ensemble.initialise()
    for step in range(3):
        ensemble.step("train", step)
    names = [p.name for p in ensemble.partition.parameters]
    return ensemble, {name: ensemble.parameter(name) for name in names}


@pytest.mark.parametrize("override", [*(f"updater.type={rule}" for rule in RULES), *OTHERS])
def test_two_workers_get_the_same_bits_as_if_both_updated_all(override: str) -> None:
    extra = ("updater.rmsprop_conf.rho=0.9",) if "RMSProp" in override else ()
    (_, shared), (_, whole) = (
        trained(2, *BATCH, override, *extra, f"shard_updates={wanted}") for wanted in ("YES", "NO")
    )
    for name, values in whole.items():
        np.testing.assert_array_equal(shared[name], values, err_msg=name)


@pytest.mark.parametrize("algorithm", ["AUTO", "RING", "DOUBLING", "TREE", "DIRECT"])
def test_three_workers_differ_in_no_more_than_the_order_of_additions(algorithm: str) -> None:
    job = (*BATCH, "dtype=FLOAT64", f"collectives={algorithm}")
    (_, shared), (_, whole) = (trained(3, *job, f"shard_updates={wanted}") for wanted in ("YES", "NO"))
    for name, values in whole.items():
        np.testing.assert_allclose(shared[name], values, rtol=1e-12, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("workers", [2, 3, 4])
def test_the_bytes_stay_and_the_state_is_shared(workers: int) -> None:
    shared, whole = (partition(LENET, workers, *BATCH, f"shard_updates={wanted}") for wanted in ("YES", "NO"))
    assert compute_ledger(shared).total == compute_ledger(whole).total == tabulate_partition(shared).moved
    parameters = sum(size(h.box) for h in whole.holdings[0])
    states = [[compile_worker(cut, w, 2).state_bytes for w in range(workers)] for cut in (shared, whole)]
    assert sum(states[0]) == 2 * 4 * parameters
    assert states[1] == [2 * 4 * parameters] * workers


def test_a_worker_keeps_states_of_its_home_alone() -> None:
    ensemble, _ = trained(2, *BATCH, "shard_updates=YES")
    for player in ensemble.players:
        shapes = [state["momentum"].shape for state in player.machine.state]
        assert shapes == [tuple(hi - lo for lo, hi in h.home) for h in player.program.holdings]
