"""kActivation and kCudnnActivation: the activation that activation_conf names."""

from __future__ import annotations

from typing import ClassVar, final

from netpart.kernels.activation import KINDS, Kind
from netpart.layers.elementwise import ElementwiseActivation
from netpart.spec import Spec


@final
class Activation(ElementwiseActivation):
    """Any kind of the activation kernel, applied to each element; only ELU uses ``alpha``."""

    types: ClassVar[tuple[str, ...]] = ("kActivation", "kCudnnActivation")
    confs: ClassVar[tuple[str, ...]] = ("activation_conf",)

    def infer(self) -> tuple[Spec, ...]:
        from netpart.proto.neuron_pb2 import ActivationProto

        conf = self.conf.activation_conf
        self.named = KINDS[ActivationProto.ActivationType.Name(conf.type).lower()]
        # alpha has a default, so a job sets it for kinds that ignore it too. A slope of 0 lets them reuse memory.
        self.slope = conf.alpha if self.named == "elu" else 0.0
        return super().infer()

    def kind(self) -> Kind:
        return self.named
