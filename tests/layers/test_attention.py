"""Attention with a mask and with dropout: against PyTorch's, and the same numbers in every cut."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import netpart
from netpart.errors import JobError
from netpart.graph.partition import partition_job
from netpart.kernels.philox import UniformDraws, stream_key
from netpart.layers.attention import Attention
from netpart.proto.job_pb2 import JobProto
from netpart.proto.reader import read_job_text
from netpart.spec import INT, Spec
from netpart.testing.play_part import SEED, STEP, LayerData, make_layer_data, play_part
from netpart.worker.ensemble import Ensemble
from tests.laws.cases import layer_proto

ROWS, HEADS, QUERIES, KEYS, WIDTH = 5, 2, 6, 7, 4
PAIRS = ROWS, HEADS, QUERIES, KEYS


def attention(conf: str, mask: str | None = INT, keys: int = KEYS, training: bool = True) -> Attention:
    shapes = (QUERIES, WIDTH), (keys, WIDTH), (keys, 3)
    sources = [Spec((ROWS, HEADS, *shape)) for shape in shapes] + ([Spec((ROWS, keys), mask)] if mask else [])
    return Attention(layer_proto("kAttention", f"attention_conf {{ {conf} }}"), tuple(sources), training=training)


def with_mask(layer: Attention, hidden: Any) -> LayerData:
    """Data whose mask is 0 where ``hidden`` is True, else a positive number."""
    data = make_layer_data(layer, 3)
    kind = "int32" if layer.inputs[3].dtype == INT else "float64"
    return replace(data, x=[*data.x[:3], np.where(hidden, 0, 7).astype(kind)])


def padded(keys: int = KEYS) -> Any:
    """Which keys are padding: those after the last token of each row. The first row has no padding."""
    return np.arange(keys) >= np.array([keys, 3, 1, keys - 1, 5])[:, None]


def factors(layer: Attention, ratio: float) -> Any:
    """What dropout multiplies each weight by, drawn without the layer."""
    pairs = (*layer.output.shape[:-1], layer.keys)
    out = np.empty(pairs)
    box = tuple((0, n) for n in pairs[1:])
    draw = UniformDraws(np, stream_key(SEED, "it", "attention"), (0, ROWS), box, pairs[1:], 1)
    draw.uniform(out, STEP, *(np.empty(shape, dtype) for shape, dtype in draw.scratch))
    return (out >= ratio) / (1 - ratio)


@pytest.mark.parametrize("mask", [INT, "float"])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.peers
def test_a_mask_is_pytorchs_attn_mask(mask: str, causal: bool) -> None:
    import torch

    keys = QUERIES if causal else KEYS
    layer = attention(f"causal: {str(causal).lower()}", mask, keys)
    hidden = padded(keys)
    data = with_mask(layer, hidden)
    q, k, v = (torch.from_numpy(x.copy()).requires_grad_() for x in data.x[:3])
    seen = torch.from_numpy(~hidden)[:, None, None, :] & torch.ones(QUERIES, keys).tril(0 if causal else keys).bool()
    y = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=seen)
    y.backward(torch.from_numpy(data.dy))
    played = play_part(layer, data)
    assert np.allclose(played.y, y.detach().numpy(), rtol=1e-12, atol=1e-14)
    for found, expected in zip(played.dx, (q.grad, k.grad, v.grad), strict=False):
        assert np.allclose(found, expected.numpy(), rtol=1e-11, atol=1e-13)
    assert played.dx[3] is None if mask == INT else not played.dx[3].any()


@pytest.mark.peers
def test_dropout_multiplies_the_weights_by_the_drawn_factors() -> None:
    import torch

    layer = attention("dropout_ratio: 0.3 scale: 0.5")
    data = with_mask(layer, padded())
    q, k, v = (torch.from_numpy(x.copy()).requires_grad_() for x in data.x[:3])
    scores = (0.5 * q @ k.transpose(-1, -2)).masked_fill(torch.from_numpy(padded())[:, None, None, :], -np.inf)
    y = (scores.softmax(-1) * torch.from_numpy(factors(layer, 0.3))) @ v
    y.backward(torch.from_numpy(data.dy))
    played = play_part(layer, data)
    assert np.allclose(played.y, y.detach().numpy(), rtol=1e-12, atol=1e-14)
    for found, expected in zip(played.dx, (q.grad, k.grad, v.grad), strict=False):
        assert np.allclose(found, expected.numpy(), rtol=1e-11, atol=1e-13)


def test_the_share_of_dropped_weights_is_the_ratio() -> None:
    layer = attention("dropout_ratio: 0.3", None)
    assert 0.2 < (factors(layer, 0.3) == 0).mean() < 0.4


def test_a_test_drops_nothing() -> None:
    layers = [attention(conf, training=False) for conf in ("dropout_ratio: 0.5", "")]
    data = with_mask(layers[0], padded())
    assert np.array_equal(*(play_part(layer, data, backward=False).y for layer in layers))


@pytest.mark.parametrize("more", ["", "dropout_ratio: 0.3"])
def test_a_query_without_a_key_gives_0_and_gets_gradient_0(more: str) -> None:
    layer = attention(f"causal: true {more}", keys=QUERIES)
    hidden = np.zeros((ROWS, QUERIES), bool)
    hidden[0, :2] = True  # causal: queries 0 and 1 see padding alone
    hidden[1] = True
    played = play_part(layer, with_mask(layer, hidden))
    for rows in (np.s_[0, :, :2], np.s_[1]):
        assert not played.y[rows].any()
        assert not played.dx[0][rows].any()
    assert not played.dx[1][1].any()
    assert not played.dx[2][1].any()
    assert np.isfinite(played.dx[1]).all()
    assert played.y[0, :, 2:].any()


def test_another_number_can_mean_padding() -> None:
    zero, minus = attention(""), attention("pad_value: -1")
    data = with_mask(zero, padded())
    turned = replace(data, x=[*data.x[:3], np.where(padded(), -1, 0).astype("int32")])
    assert np.array_equal(play_part(zero, data).y, play_part(minus, turned).y)


TEXT = """
seed: 4 dtype: FLOAT64 train_steps: 2
updater { type: kSGD learning_rate { type: kFixed base_lr: 0.1 } }
neuralnet {
  layer { name: "data" type: kSyntheticTokens store_conf { batchsize: 6 shape: 8 } synthetic_conf { classes: 4 } }
  layer { name: "embed" type: kEmbedding srclayers: "data" embedding_conf { vocab_size: 4 feature_dim: 12 }
    param { init { type: kGaussian std: 0.5 } } }
  layer { name: "split" type: kReshape srclayers: "embed" reshape_conf { shape: 8 shape: 3 shape: 4 } }
  layer { name: "heads" type: kTranspose srclayers: "split" transpose_conf { axis: 2 axis: 1 axis: 3 } }
  layer { name: "attention" type: kAttention srclayers: "heads" srclayers: "heads" srclayers: "heads" srclayers: "data"
    attention_conf { causal: true dropout_ratio: 0.4 } }
  layer { name: "back" type: kTranspose srclayers: "attention" transpose_conf { axis: 2 axis: 1 axis: 3 } }
  layer { name: "fc" type: kInnerProduct srclayers: "back" innerproduct_conf { num_output: 4 axis: 2 }
    param { init { type: kUniformSqrtFanIn } } param { init { type: kConstant value: 0 } } }
  layer { name: "loss" type: kSoftmaxLoss srclayers: "fc" srclayers: "data" }
}
"""


def job(*overrides: str) -> JobProto:
    return read_job_text(TEXT, overrides=overrides).proto


@pytest.mark.parametrize(
    ("overrides", "workers"),
    [
        (("neuralnet.partition_dim=0",), 4),
        (("attention.partition_dim=1", "heads.partition_dim=1"), 3),
        (("attention.partition_dim=2", "embed.partition_dim=1"), 3),
        (("attention.partition_dim=3",), 2),
        (("neuralnet.micro_batches=3", "neuralnet.partition_dim=0"), 2),
        (("neuralnet.recompute=true", "attention.partition_dim=2"), 2),
        (("embed.location=0", "attention.location=1", "fc.location=1", "neuralnet.micro_batches=2"), 2),
    ],
)
def test_every_cut_drops_the_same_weights(overrides: tuple[str, ...], workers: int) -> None:
    whole, parts = Ensemble(partition_job(job(), 1)), Ensemble(partition_job(job(*overrides), workers))
    for ensemble in (whole, parts):
        ensemble.initialise()
        for step in range(2):
            ensemble.step("train", step)
    for name in ("embed/weight", "fc/weight"):
        assert np.allclose(parts.parameter(name), whole.parameter(name), rtol=1e-11, atol=1e-14)


def test_a_mask_of_another_shape_is_refused_where_the_job_names_it() -> None:
    text = TEXT.replace('srclayers: "heads" srclayers: "data"', 'srclayers: "heads" srclayers: "embed"')
    line = text[: text.index('srclayers: "embed"\n')].count("\n") + 1
    with pytest.raises(JobError) as raised:
        netpart.partition(read_job_text(text, "job.conf"), 1)
    assert raised.value.lines()[0].startswith(f"job.conf:{line}:")
    assert "attention: expected a mask (batch, keys) = (6, 8), got float (6, 8, 12)" in raised.value.lines()[0]
