"""kActivation and kCudnnActivation: the activation that activation_conf names."""

from __future__ import annotations

from typing import ClassVar, final

from netpart.kernels.activation import Kind
from netpart.layers.elementwise import Elementwise


@final
class Activation(Elementwise):
    """RELU, SIGMOID, TANH or STANH."""

    types: ClassVar[tuple[str, ...]] = ("kActivation", "kCudnnActivation")

    def kind(self) -> Kind:
        kinds: tuple[Kind, ...] = ("relu", "sigmoid", "tanh", "stanh")
        return kinds[self.conf.activation_conf.type - 1]
