"""kActivation and kCudnnActivation: the activation that activation_conf names."""

from __future__ import annotations

from typing import ClassVar, final

from netpart.layers.elementwise import Elementwise


@final
class Activation(Elementwise):
    """RELU, SIGMOID, TANH or STANH."""

    types: ClassVar[tuple[str, ...]] = ("kActivation", "kCudnnActivation")

    def kind(self) -> str:
        from netpart.proto.job_pb2 import ActivationProto

        return ActivationProto.ActivationType.Name(self.conf.activation_conf.type).lower()
