"""The blocks of published nets: their shapes; and a net of each computes on two workers what it computes on one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import pytest

import netpart
from netpart import LayerHandle, Net
from netpart.blocks.dense_blocks import dense_layer, dense_transition
from netpart.blocks.initialised_layers import he_convolution, initialised_product
from netpart.blocks.place_attention import volume_attention
from netpart.blocks.residual_blocks import basic_residual, bottleneck_residual, inverted_residual, residual_stage
from netpart.blocks.transformer_blocks import SEQUENCE_CUTS, learned_positions, name_extents, transformer_block
from netpart.blocks.unet_blocks import decoder_level, encoder_level

Body = Callable[[Net, LayerHandle], LayerHandle]
SGD = {"type": "kSGD", "learning_rate": {"type": "kFixed", "base_lr": 0.1}}


def _start(shape: Sequence[int]) -> tuple[Net, LayerHandle]:
    """A net that has only its data."""
    net = Net("blocks", train_steps=2, train_one_batch={"alg": "kBP"}, updater=SGD)
    return net, net.synthetic_input(name="data", batchsize=4, shape=shape, classes=3)


def _residuals(net: Net, x: LayerHandle) -> LayerHandle:
    x = residual_stage(net, "s1b", 1, x, basic_residual, "basic", filters=4)
    return residual_stage(net, "s2b", 2, x, basic_residual, "basic", "halving", 2, filters=6)


def _bottlenecks(net: Net, x: LayerHandle) -> LayerHandle:
    return residual_stage(net, "s", 2, x, bottleneck_residual, "bottleneck", "projecting", filters=2, wide=8)


def _inverted(net: Net, x: LayerHandle) -> LayerHandle:
    x = net.use(partial(inverted_residual, expands=False), x, name="r1", of="separable", wide=4, filters=6)
    return net.use(partial(inverted_residual, shortcut=True), x, name="r2", of="inverted", wide=12, filters=6)


def _dense(net: Net, x: LayerHandle) -> LayerHandle:
    x = net.repeat(2, dense_layer, x, name="l", growth=3, wide=6)
    return net.use(dense_transition, x, name="t", filters=5)


def _unet(axes: int, net: Net, x: LayerHandle) -> LayerHandle:
    skip = net.use(partial(encoder_level, axes=axes, pools=False), x, name="d1", of="top", narrow=2, wide=4)
    x = net.use(partial(encoder_level, axes=axes), skip, name="d2", of="down", narrow=4, wide=6)
    return net.use(partial(decoder_level, axes=axes), x, skip, name="u1", of="up", wide=4, filters=5)


def _attention(net: Net, x: LayerHandle) -> LayerHandle:
    return net.use(volume_attention, x, name="s", filters=4, narrow=2, places=16, x=4, y=2, z=2)


def _transformer(net: Net, x: LayerHandle) -> LayerHandle:
    block = partial(transformer_block, size=name_extents(net, 6, 8, 2), causal=True)
    x = net.repeat(2, block, learned_positions(net, x), name="b", of="transformer")
    net.cut(SEQUENCE_CUTS)
    return x


BODIES: dict[str, tuple[Sequence[int], Body, Sequence[int]]] = {
    "residuals": ((4, 8, 8), _residuals, (6, 4, 4)),
    "bottlenecks": ((4, 8, 8), _bottlenecks, (8, 8, 8)),
    "inverted residuals": ((4, 8, 8), _inverted, (6, 8, 8)),
    "dense layers": ((4, 8, 8), _dense, (5, 4, 4)),
    "U-Net": ((2, 8, 8), partial(_unet, 2), (5, 8, 8)),
    "3-D U-Net": ((2, 4, 4, 4), partial(_unet, 3), (5, 4, 4, 4)),
    "attention in a volume": ((4, 4, 2, 2), _attention, (4, 4, 2, 2)),
    "transformer": ((6, 8), _transformer, (6, 8)),
}


@pytest.mark.parametrize("body", BODIES)
def test_two_workers_compute_what_one_does(body: str) -> None:
    given, add, made = BODIES[body]
    net, data = _start(given)
    x = net.add_layer("kReLU", add(net, data), name="end")
    net.softmax_loss(initialised_product(net, "scores", x, 3), data)
    assert tuple(netpart.build(net.job()).by_name["end"].layer.output.shape) == (4, *made)
    assert netpart.verify(net.job(), workers=2, steps=2).holds


def test_an_error_within_a_block_names_the_line_of_the_program() -> None:
    net, data = _start((4, 8, 8))
    with pytest.raises(netpart.ConfigError, match="expected a field of kConvolution") as raised:
        he_convolution(net, "conv", data, 4, 3, kernels=3)
    assert raised.value.position is not None
    assert str(raised.value.position.file) == __file__
