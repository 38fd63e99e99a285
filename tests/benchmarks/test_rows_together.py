"""A training on one worker equals those on several: micro-batches normalise the same rows together."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from benchmarks.nets import Net
from benchmarks.prepare import prepare
from benchmarks.ways import Hybrid, by_data, by_gabra, uncut, with_overrides
from netpart.plan.partition import partition_by_scheme
from netpart.proto.reader import Job
from netpart.worker.ensemble import Ensemble

pytestmark = pytest.mark.slow
SMALL = Net("small", "3D-ResAttNet18, small", "graphs/resattnet/resattnet18-small.conf", 8)
STEPS = 2


def trained(job: Job, workers: int) -> tuple[list[float], dict[str, np.ndarray]]:
    """Losses, and all parameters with the running statistics, after some steps."""
    exact = with_overrides(job, "dtype=FLOAT64")
    cut = partition_by_scheme(exact.proto, workers, exact.folder, phases=("train",))
    ensemble = Ensemble(cut)
    ensemble.initialise()
    losses = [ensemble.step("train", step)["loss/loss"] for step in range(STEPS)]
    return losses, {each.name: ensemble.parameter(each.name) for each in cut.parameters}


def one_worker(pieces: int) -> Job:
    """The training that replaces others: one worker that takes its mini-batch in micro-batches."""
    return with_overrides(uncut(SMALL), f"neuralnet.micro_batches={pieces}")


@pytest.mark.parametrize(
    ("job", "workers", "pieces"),
    [
        pytest.param(lambda: by_data(SMALL, True), 2, 2, id="data parallelism, local norm, 2 workers"),
        pytest.param(lambda: by_data(SMALL, True), 4, 4, id="data parallelism, local norm, 4 workers"),
        pytest.param(lambda: by_data(SMALL, False), 4, 1, id="data parallelism, 4 workers"),
        pytest.param(lambda: by_gabra(SMALL, 4, Hybrid(2, None, 2), False)[0], 4, 2, id="GABRA, 2 groups of 2"),
        pytest.param(lambda: by_gabra(SMALL, 4, Hybrid(2, 2, 2), True)[0], 4, 4, id="GABRA, local norm, 2 groups of 2"),
    ],
)
def test_netpart_on_workers_is_netpart_with_micro_batches(job: Callable[[], Job], workers: int, pieces: int) -> None:
    losses, values = trained(job(), workers)
    others, expected = trained(one_worker(pieces), 1)
    assert losses == pytest.approx(others, rel=1e-9)
    assert set(values) == set(expected)
    assert any("variance" in name for name in values)
    for name, value in values.items():
        np.testing.assert_allclose(value, expected[name], rtol=1e-7, atol=1e-9, err_msg=name)


def test_other_rows_together_are_another_training() -> None:
    assert trained(one_worker(2), 1)[0] != pytest.approx(trained(one_worker(1), 1)[0], rel=1e-3)


@pytest.mark.peers
def test_pytorch_in_pieces_is_pytorch_on_replicas(tmp_path: Path) -> None:
    import torch

    from benchmarks.peers.torch_dp import DataParallel
    from benchmarks.peers.torch_learner import gradients
    from benchmarks.peers.torch_trainer import Trainer

    folder = prepare(SMALL, tmp_path).folder
    replicas, alone = DataParallel(folder, "plain", 2, 1), Trainer(folder, "plain")
    whole = Trainer(folder, "plain")
    replicas.train(replicas.batches[0])
    gradients(alone.net, alone.batches[0], 2)
    gradients(whole.net, whole.batches[0], 1)
    pairs = zip(alone.net.parameters(), replicas.net.parameters(), whole.net.parameters(), strict=True)
    found = [[each.grad for each in pair] for pair in pairs]
    assert all(torch.allclose(own, other, rtol=1e-4, atol=1e-6) for own, other, _ in found)
    assert not all(torch.allclose(own, other, rtol=1e-4, atol=1e-6) for own, _, other in found)
    buffers = zip(alone.net.buffers(), replicas.net.buffers(), strict=True)
    assert all(torch.equal(own, other) for own, other in buffers)
