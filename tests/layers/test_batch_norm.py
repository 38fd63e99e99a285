"""Batch normalisation against PyTorch's, in training and in tests, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from netpart.errors import ConfigError
from netpart.graph.partition import partition_job
from netpart.layers.batch_norm import BatchNorm
from netpart.plan.price.ledger import compute_ledger
from netpart.proto.param_pb2 import InitMethod
from netpart.spec import Spec
from netpart.testing.play_part import LayerData, make_layer_data, play_part
from netpart.worker.ensemble import Ensemble
from tests.graph.expanded import NORM, normed
from tests.laws.cases import layer_proto, params

IMAGE = Spec((5, 3, 4, 2))


def batch_norm(conf: str = "", blocks: int = 2, source: Spec = IMAGE, training: bool = True) -> BatchNorm:
    text = f"bm_conf {{ epsilon: 0.25 momentum: 0.75 {conf} }} {params(blocks)}"
    return BatchNorm(layer_proto("kBM", text), (source,), training=training)


def oracle(torch: Any, data: LayerData) -> Any:
    """PyTorch's layer with the same parameters."""
    norm = torch.nn.BatchNorm2d(3, eps=0.25, momentum=0.25).double()
    tensors = norm.weight, norm.bias, norm.running_mean, norm.running_var
    for tensor, values in zip(tensors, data.w, strict=True):
        tensor.data.copy_(torch.from_numpy(values))
    return norm


def random_data(layer: BatchNorm) -> LayerData:
    data = make_layer_data(layer, 3)
    data.w[3] = np.abs(data.w[3]) + 0.5
    return data


@pytest.mark.peers
def test_training_is_pytorchs_forward_and_backward() -> None:
    import torch

    layer = batch_norm()
    data = random_data(layer)
    norm, x = oracle(torch, data), torch.from_numpy(data.x[0].copy()).requires_grad_()
    y = norm(x)
    y.backward(torch.from_numpy(data.dy))
    played = play_part(layer, data)
    assert np.allclose(played.y, y.detach().numpy(), rtol=1e-12)
    for found, expected in zip((*played.dx, *played.dw[:2]), (x.grad, norm.weight.grad, norm.bias.grad), strict=True):
        assert np.allclose(found, expected.numpy(), rtol=1e-11, atol=1e-13)


@pytest.mark.peers
def test_a_test_takes_the_running_statistics() -> None:
    import torch

    layer = batch_norm(training=False)
    data = random_data(layer)
    y = oracle(torch, data).eval()(torch.from_numpy(data.x[0]))
    assert np.allclose(play_part(layer, data, backward=False).y, y.detach().numpy(), rtol=1e-12)


@pytest.mark.peers
def test_a_frozen_layer_trains_as_pytorchs_after_eval() -> None:
    import torch

    layer = batch_norm("frozen: true")
    data = random_data(layer)
    norm, x = oracle(torch, data).eval(), torch.from_numpy(data.x[0].copy()).requires_grad_()
    y = norm(x)
    y.backward(torch.from_numpy(data.dy))
    played = play_part(layer, data)
    assert np.allclose(played.y, y.detach().numpy(), rtol=1e-12)
    for found, expected in zip((*played.dx, *played.dw[:2]), (x.grad, norm.weight.grad, norm.bias.grad), strict=True):
        assert np.allclose(found, expected.numpy(), rtol=1e-11, atol=1e-13)
    assert played.dw[2:] == [None, None]


@pytest.mark.parametrize("micro_batches", [1, 3])
@pytest.mark.parametrize(
    ("cut", "workers"), [("partition_dim: 0", 3), ("partition_dim: 1", 2), ("partition_dim: 2", 2)]
)
def test_frozen_statistics_stay_and_scale_and_shift_learn(cut: str, workers: int, micro_batches: int) -> None:
    whole, parts = (normed(cut, norm=f"{NORM} frozen: true") for _ in range(2))
    parts.neuralnet.micro_batches = micro_batches
    found, alone = (Ensemble(partition_job(job, n), keep=True) for job, n in ((parts, workers), (whole, 1)))
    for ensemble in (found, alone):
        ensemble.initialise()
    before = {name: found.parameter(f"bn/{name}").copy() for name in ("weight", "bias", "mean", "variance")}
    for step in range(2):
        for ensemble in (found, alone):
            ensemble.step("train", step)
    for name in ("mean", "variance"):
        assert np.array_equal(found.parameter(f"bn/{name}"), before[name])
    for name in ("weight", "bias"):
        assert not np.allclose(found.parameter(f"bn/{name}"), before[name], atol=1e-6)
        assert np.allclose(found.parameter(f"bn/{name}"), alone.parameter(f"bn/{name}"), rtol=1e-12)


def test_parts_of_a_frozen_layer_exchange_no_statistics() -> None:
    def sent(norm: str) -> tuple[int, list[str]]:
        partition = partition_job(normed("partition_dim: 0", norm=norm), 3)
        names = [node.name for node in partition.graph.net.nodes]
        return sum(entry.nbytes for entry in compute_ledger(partition).entries), names

    moving, frozen = sent(NORM), sent(f"{NORM} frozen: true")
    assert [name for name in moving[1] if name not in frozen[1]] == ["moments-bn"]
    # Of each of 3 workers 4 channels of 2 moments, forward and backward, and 2 running statistics: all in float64.
    assert moving[0] > frozen[0]


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.peers
def test_running_statistics_are_pytorchs(workers: int) -> None:
    import torch

    ensemble = Ensemble(partition_job(normed("partition_dim: 0"), workers), keep=True)
    ensemble.initialise()
    norm = torch.nn.BatchNorm2d(4, momentum=0.1).double()
    for step in range(3):
        ensemble.step("train", step)
        norm(torch.from_numpy(ensemble.activation("train", "conv")))
        assert np.allclose(ensemble.parameter("bn/mean"), norm.running_mean.numpy(), rtol=1e-12)
        assert np.allclose(ensemble.parameter("bn/variance"), norm.running_var.numpy(), rtol=1e-12)


def test_names_of_parameters_may_have_a_stroke() -> None:
    job, named = normed("partition_dim: 0"), normed("partition_dim: 0")
    blocks = next(layer for layer in named.neuralnet.layer if layer.name == "bn").param
    blocks.add().init.type = blocks.add().init.type = InitMethod.kConstant
    blocks[2].init.value = 0
    for block, name in zip(blocks, ("scale", "shift", "mean", "variance"), strict=True):
        block.name = f"a/{name}"
    plain, other = (Ensemble(partition_job(each, 2)) for each in (job, named))
    for ensemble in (plain, other):
        ensemble.initialise()
        ensemble.step("train", 0)
    assert np.array_equal(other.parameter("bn/a/variance"), plain.parameter("bn/variance"))


def test_one_element_is_its_own_mean() -> None:
    layer = batch_norm(source=Spec((1, 2)))
    data = make_layer_data(layer, 0)
    played = play_part(layer, data)
    assert np.allclose(played.y[0], data.w[1])
    assert not played.dx[0].any()


def test_blocks_name_the_running_statistics() -> None:
    assert [spec.proto.name for spec in batch_norm(blocks=4).params] == ["p0", "p1", "p2", "p3"]
    none = batch_norm(blocks=0).params
    assert [(spec.key, spec.proto.init.value) for spec in none] == [("mean", 0), ("variance", 1)]


@pytest.mark.parametrize(
    ("conf", "more", "expected", "at"),
    [
        ("epsilon: 0", "", "an epsilon above 0", ("bm_conf", "epsilon")),
        ("momentum: 1.5", "", "a momentum from 0 to 1", ("bm_conf", "momentum")),
        ("", params(5), "at most 4 param blocks", ("param",)),
        ("", params(2) + 'param { share_from: "p" }', "no share_from", ("param", 2, "share_from")),
    ],
)
def test_a_conf_that_cannot_work_is_refused(conf: str, more: str, expected: str, at: tuple[str | int, ...]) -> None:
    with pytest.raises(ConfigError, match=expected) as caught:
        BatchNorm(layer_proto("kBM", f"bm_conf {{ {conf} }} {more}"), (IMAGE,))
    assert caught.value.at == at
