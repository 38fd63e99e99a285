"""The norm of the gradient in a Program: counted when the sums are there, agreed upon, and only then used."""

from __future__ import annotations

import numpy as np
import pytest

from netpart.plan.price.ledger import compute_ledger
from netpart.plan.text.plan_table import tabulate_partition
from netpart.program.compile import compile_worker
from netpart.program.instructions import AddSquares, Channel, CollectiveStart, CollectiveWait, Update, Way
from netpart.worker.ensemble import Ensemble
from tests.worker.jobs import LENET, partition

CLIPPED = ("dtype=FLOAT64", "updater.momentum=0", "updater.weight_decay=0", "updater.clip_norm=0.05")


def is_norm(channel: Channel) -> bool:
    return channel.way == Way.NORM


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_updates_come_when_all_workers_know_the_norm(workers: int) -> None:
    cut = partition(LENET, workers, *CLIPPED)
    for worker in range(workers):
        found = compile_worker(cut, worker).phases["train"].instructions
        places = {kind: [i for i, x in enumerate(found) if isinstance(x, kind)] for kind in (AddSquares, Update)}
        agreed = [i for i, x in enumerate(found) if isinstance(x, CollectiveWait) and is_norm(x.start.channel)]
        started = [i for i, x in enumerate(found) if isinstance(x, CollectiveStart) and is_norm(x.channel)]
        assert len(agreed) == len(started) == (workers > 1)
        assert [*places[AddSquares], *started, *agreed, *places[Update]] == sorted(
            [*places[AddSquares], *started, *agreed, *places[Update]]
        )
        assert {x.norm for x in found if isinstance(x, Update)} == {
            x.target for x in found if isinstance(x, AddSquares)
        }


def test_without_clipping_updates_do_not_wait() -> None:
    found = compile_worker(partition(LENET, 3), 0).phases["train"].instructions
    assert not [x for x in found if isinstance(x, AddSquares)]
    first = next(i for i, x in enumerate(found) if isinstance(x, Update))
    assert [x for x in found[first:] if isinstance(x, CollectiveWait)]


@pytest.mark.parametrize("micros", [1, 4])
@pytest.mark.parametrize("workers", [1, 3])
def test_the_step_is_as_long_as_the_norm_allows(workers: int, micros: int) -> None:
    cut = partition(LENET, workers, *CLIPPED, f"neuralnet.micro_batches={micros}")
    ensemble = Ensemble(cut, poison=True)
    ensemble.initialise()
    before = {p.name: ensemble.parameter(p.name) for p in cut.parameters}
    ensemble.step("train", 0)
    changes = [ensemble.parameter(name) - w for name, w in before.items()]
    gradients = [ensemble.parameter(name, gradient=True) for name in before]
    assert np.sqrt(sum((g**2).sum() for g in gradients)) > 0.05
    rate = cut.job.updater.learning_rate.base_lr
    length = np.sqrt(sum((change**2).sum() for change in changes))
    np.testing.assert_allclose(length, rate * cut.job.updater.clip_norm, rtol=1e-12)


def test_one_number_travels_and_is_booked() -> None:
    cut = partition(LENET, 3, "updater.clip_norm=1")
    entries = [e for e in compute_ledger(cut).entries if is_norm(e.channel)]
    assert sum(e.nbytes for e in entries) == 2 * (3 - 1) * 8
    assert tabulate_partition(cut).moved == compute_ledger(cut).total
    assert tabulate_partition(cut).moved - tabulate_partition(partition(LENET, 3)).moved == 32
