"""Averages of parameters and of running statistics, recomputed with NumPy from the data alone, and by PyTorch.

The batch norm reads the data itself, so what its running statistics must be is known whatever the rest of the net does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from netpart.data.synthetic import SyntheticRows
from netpart.graph.partition import partition_job
from netpart.proto.job_pb2 import JobProto
from netpart.proto.reader import read_job_text
from netpart.spec import relative_slices, whole_region
from netpart.updaters import AVERAGE
from netpart.verify.compare import verify_job
from netpart.worker.ensemble import Ensemble
from tests.laws.turns import Groups

Values = np.ndarray[Any, Any]
ROWS = 12
FEATURES = 6
CLASSES = 3
STEPS = 7
EPSILON = 1e-5
RATE = 0.2
DIGITS = 1e-12
CUTS = {
    "whole": (1, ()),
    "rows": (3, ("neuralnet.partition_dim=0",)),
    "channels": (2, ("bn.partition_dim=1",)),
    "shared": (3, ("neuralnet.partition_dim=0", "shard_updates=YES", "updater.ema_eval=false")),
    "micro-batches": (2, ("neuralnet.partition_dim=0", "neuralnet.micro_batches=2")),
    "stages": (2, ("bn.location=0", "fc.location=1", "loss.location=1")),
    "delayed": (2, ("bn.location=0", "fc.location=1", "loss.location=1", "neuralnet.schedule=DELAYED")),
}
TEXT = """
seed: 4 dtype: FLOAT64 train_steps: %d test_steps: 1
updater { type: kSGD ema_decay: %g %s learning_rate { type: kFixed base_lr: 0.2 } }
cluster { %s }
neuralnet {
  layer { name: "data" type: kSyntheticInput location: 0
    store_conf { batchsize: 12 shape: 6 } synthetic_conf { classes: 3 noise: 1.5 } }
  layer { name: "bn" type: kBM srclayers: "data" bm_conf { momentum: %g epsilon: 0.00001 }
    param { init { type: kConstant value: 1 } } param { init { type: kConstant value: 0 } } }
  layer { name: "fc" type: kInnerProduct srclayers: "bn" innerproduct_conf { num_output: 3 }
    param { init { type: kUniformSqrtFanIn } } param { init { type: kConstant value: 0 } } }
  layer { name: "loss" type: kSoftmaxLoss srclayers: "fc" srclayers: "data" }
}
"""


def job(momentum: float, decay: float, *overrides: str, more: str = "ema_eval: true", cluster: str = "") -> JobProto:
    return read_job_text(TEXT % (STEPS, decay, more, cluster, momentum), overrides=overrides).proto


def batches(steps: range) -> Iterator[tuple[Values, Values]]:
    """The samples and labels of some steps."""
    source = SyntheticRows((FEATURES,), CLASSES, batch=ROWS, seed=4, noise=1.5)
    for step in steps:
        x, labels = np.empty((ROWS, FEATURES)), np.empty(ROWS, np.int32)
        source.read(step, 0, ROWS, x, labels)
        yield x, labels


def statistics(keep: float, steps: range = range(STEPS)) -> tuple[Values, Values]:
    """Running mean and variance after the batches of ``steps``."""
    mean, variance = np.zeros(FEATURES), np.ones(FEATURES)
    for x, _ in batches(steps):
        mean = keep * mean + (1 - keep) * x.mean(0)
        variance = keep * variance + (1 - keep) * x.var(0, ddof=1)
    return mean, variance


def check_average(ensemble: Ensemble, keep: float) -> None:
    """Running statistics and their averages are what NumPy says."""
    for name, expected in zip(("bn/mean", "bn/variance"), statistics(keep), strict=True):
        for pick in (np.maximum, np.minimum):
            assert np.abs(ensemble.parameter(name, pick=pick) - expected).max() < DIGITS, name
            assert np.abs(ensemble.average(name, pick) - expected).max() < DIGITS, f"average of {name}"


@pytest.mark.parametrize(("momentum", "decay"), [(0.0, 0.5), (0.5, 0.999), (0.9, 0.5), (1.0, 0.999)])
@pytest.mark.parametrize("cut", CUTS)
def test_the_average_of_a_running_statistic_is_that_itself(cut: str, momentum: float, decay: float) -> None:
    workers, overrides = CUTS[cut]
    ensemble = Ensemble(partition_job(job(momentum, decay, *overrides), workers), order=3, poison=True)
    ensemble.initialise()
    for step in range(STEPS):
        ensemble.step("train", step, drain=step == STEPS - 1)
    check_average(ensemble, momentum)


@pytest.mark.parametrize("warmup", ["", "ema_warmup: true"])
@pytest.mark.parametrize("workers", [1, 3])
def test_a_test_net_computes_with_averages(workers: int, warmup: str) -> None:
    """Averages of what is trained follow a <- k a + (1 - k) w, and the test net normalises and multiplies by them."""
    conf = job(0.5, 0.75, "neuralnet.partition_dim=0", more=f"ema_eval: true {warmup}")
    ensemble = Ensemble(partition_job(conf, workers), keep=True)
    ensemble.initialise()
    names = ["bn/weight", "bn/bias", "fc/weight", "fc/bias"]
    averages = {name: ensemble.parameter(name).copy() for name in names}
    for step in range(STEPS):
        ensemble.step("train", step)
        k = min(0.75, (1 + step) / (10 + step)) if warmup else 0.75
        averages = {name: k * a + (1 - k) * ensemble.parameter(name) for name, a in averages.items()}
    check_average(ensemble, 0.5)
    for name, expected in averages.items():
        assert np.abs(ensemble.average(name) - expected).max() < DIGITS, name
    ensemble.step("test", 0)
    (mean, variance), x = statistics(0.5), ensemble.activation("test", "data")
    normal = (x - mean) / np.sqrt(variance + EPSILON) * averages["bn/weight"] + averages["bn/bias"]
    assert np.abs(ensemble.activation("test", "bn") - normal).max() < DIGITS
    expected = normal @ averages["fc/weight"].T + averages["fc/bias"]
    assert np.abs(ensemble.activation("test", "fc") - expected).max() < DIGITS


@pytest.mark.parametrize("workers", [1, 2])
def test_groups_that_meet_average_their_running_statistics(workers: int) -> None:
    """Two groups take turns at the steps; each follows its own, and at the end both have the mean."""
    cluster = "nworker_groups: 2 nserver_groups: 2 sync_freq: 100"
    groups = Groups(job(0.5, 0.75, "neuralnet.partition_dim=0", cluster=cluster), workers)
    groups.run()
    own = [statistics(0.5, range(group, STEPS, 2)) for group in range(2)]
    check_groups(groups, [np.mean(both, axis=0) for both in zip(*own, strict=True)])


def test_servers_keep_the_running_statistics_of_the_first_group() -> None:
    cluster = "nworker_groups: 2 server_worker_separate: true nservers_per_group: 1"
    groups = Groups(job(0.5, 0.75, more="", cluster=cluster), 1)
    groups.run()
    check_groups(groups, list(statistics(0.5, range(0, STEPS, 2))))


def check_groups(groups: Groups, expected: list[Values]) -> None:
    """Everybody who keeps parameters has these running statistics, and averages equal to them."""
    for name, value in zip(("bn/mean", "bn/variance"), expected, strict=True):
        for rank in groups.cluster.checkpoint_ranks:
            player = groups.players[rank]
            for h, holding in enumerate(player.program.holdings):
                if holding.parameter.name == name:
                    own = value[relative_slices(holding.home, whole_region(value.shape))]
                    assert np.abs(player.parameters.at_home(h) - own).max() < DIGITS, (rank, name)
                    assert np.abs(player.machine.state[h][AVERAGE] - own).max() < DIGITS, (rank, name)


def test_verify_compares_averages(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the averages of one worker are off is found in them, where nothing else shows it."""
    conf = job(0.5, 0.75, "neuralnet.partition_dim=0", more="")
    report = verify_job(conf, 2, steps=2)
    compared = {(c.layer, c.name) for c in report.comparisons if c.kind == "average"}
    assert report.holds
    assert compared == {("bn", name) for name in ("weight", "bias", "mean", "variance")} | {
        ("fc", "weight"),
        ("fc", "bias"),
    }
    right = Ensemble.average

    def wrong(self: Ensemble, name: str, pick: Any = np.maximum) -> Values:
        return right(self, name, pick) + (1e-6 if self.partition.workers == 2 and name == "fc/bias" else 0)

    monkeypatch.setattr(Ensemble, "average", wrong)
    first = verify_job(conf, 2, steps=2).first
    assert first is not None
    assert (first.step, first.kind, first.layer, first.name) == (0, "average", "fc", "bias")


@pytest.mark.parametrize("momentum", [0.25, 0.9])
@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.peers
def test_pytorch_averages_the_same(workers: int, momentum: float) -> None:
    """``torch.optim.swa_utils.AveragedModel`` of a net with ``BatchNorm1d``, and its loss in evaluation."""
    import torch
    from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

    ensemble = Ensemble(partition_job(job(momentum, 0.75, "neuralnet.partition_dim=0"), workers), keep=True)
    ensemble.initialise()
    norm = torch.nn.BatchNorm1d(FEATURES, eps=EPSILON, momentum=1 - momentum, dtype=torch.float64)
    product = torch.nn.Linear(FEATURES, CLASSES, dtype=torch.float64)
    with torch.no_grad():
        product.weight.copy_(torch.tensor(ensemble.parameter("fc/weight")))
        product.bias.copy_(torch.tensor(ensemble.parameter("fc/bias")))
    net = torch.nn.Sequential(norm, product)
    averaged = AveragedModel(net, multi_avg_fn=get_ema_multi_avg_fn(0.75))
    averaged.update_parameters(net)  # the first call copies
    sgd = torch.optim.SGD(net.parameters(), lr=RATE)
    for step, (x, labels) in enumerate(batches(range(STEPS))):
        ensemble.step("train", step)
        sgd.zero_grad()
        torch.nn.functional.cross_entropy(net(torch.tensor(x)), torch.tensor(labels).long()).backward()
        sgd.step()
        averaged.update_parameters(net)
    loss = ensemble.step("test", 0)["loss/loss"]
    averaged.module.eval()
    x, label = (torch.tensor(ensemble.activation("test", "data", output)) for output in (0, 1))
    with torch.no_grad():
        expected = torch.nn.functional.cross_entropy(averaged.module(x), label.long())
    assert loss == pytest.approx(float(expected), rel=1e-10)
    state = averaged.module.state_dict()
    for name, theirs in {"bn/mean": "0.running_mean", "bn/variance": "0.running_var", "fc/weight": "1.weight"}.items():
        np.testing.assert_allclose(ensemble.average(name), state[theirs].numpy(), rtol=1e-10, atol=1e-12, err_msg=name)
